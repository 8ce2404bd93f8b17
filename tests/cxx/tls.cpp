/*
 * tls.cpp: connections over TLS (thrum/cpp/tls.hpp).
 */
/* matrix: policy workers */
#include "check.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>

#include <thrum/cpp/tls.hpp>
#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/* A certificate for a.test, which vouches for itself, and its key: both as PEM. */
struct issued {
    std::string chain;
    std::string key;

    issued() {
        X509 *made = X509_new();
        EVP_PKEY *pair = EVP_EC_gen("P-256");
        CHECK(made != nullptr && pair != nullptr);
        CHECK_EQ(X509_set_version(made, X509_VERSION_3), 1);
        ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
        X509_gmtime_adj(X509_getm_notBefore(made), -3600);
        X509_gmtime_adj(X509_getm_notAfter(made), 3600);
        X509_NAME *name = X509_get_subject_name(made);
        CHECK_EQ(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                            reinterpret_cast<const unsigned char *>("a.test"), -1,
                                            -1, 0),
                 1);
        CHECK_EQ(X509_set_issuer_name(made, name), 1);
        X509_EXTENSION *names =
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:a.test");
        CHECK(names != nullptr);
        CHECK_EQ(X509_add_ext(made, names, -1), 1);
        X509_EXTENSION_free(names);
        CHECK_EQ(X509_set_pubkey(made, pair), 1);
        CHECK(X509_sign(made, pair, EVP_sha256()) > 0);
        chain = text([&](BIO *to) { return PEM_write_bio_X509(to, made); });
        key = text([&](BIO *to) {
            return PEM_write_bio_PrivateKey(to, pair, nullptr, nullptr, 0, nullptr, nullptr);
        });
        X509_free(made);
        EVP_PKEY_free(pair);
    }
    template <typename Write> static std::string text(Write write) {
        BIO *to = BIO_new(BIO_s_mem());
        CHECK_EQ(write(to), 1);
        char *at;
        const long n = BIO_get_mem_data(to, &at);
        std::string out(at, static_cast<size_t>(n));
        BIO_free(to);
        return out;
    }
    thrum::tls_config server() {
        thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
        options.chain = {chain.data(), chain.size()};
        options.key = {key.data(), key.size()};
        return thrum::tls_config::server(options);
    }
    thrum::tls_config client() {
        thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
        options.ca = {chain.data(), chain.size()};
        return thrum::tls_config::client(&options);
    }
};

/* Calls it: what the std::system_error says that it throws. */
template <typename Fn> std::string what_of(Fn fn) {
    try {
        fn();
    } catch (const std::system_error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

std::string words_of(int error) {
    return std::generic_category().message(error);
}

} // namespace

TEST(sealed_bytes_go_there_and_back) {
    /* Over a connection that is moved; a close is read as the end. */
    thrum::run([] {
        issued own;
        const thrum::tls_config to_serve = own.server();
        const thrum::tls_config to_ask = own.client();
        thrum::listener listener(own_address().c_str());
        auto server = thrum::spawn([&] {
            thrum::tls talk(to_serve, listener.accept());
            char bytes[8];
            const size_t n = talk.read(bytes, sizeof(bytes));
            talk.write(bytes, n);
            return talk.read(bytes, sizeof(bytes));
        });
        thrum::tls first(to_ask, thrum::dial(own_address().c_str()), "a.test");
        thrum::tls talk = std::move(first);
        CHECK(!first && talk);
        CHECK_STR(talk.version(), "TLSv1.3");
        CHECK_STR(talk.subject(), "CN=a.test");
        CHECK_STR(talk.protocol(), "");
        CHECK(talk.cipher()[0] != '\0');
        CHECK(!talk.is_resumed());
        char bytes[8] = "";
        CHECK_EQ(talk.read_until(bytes, sizeof(bytes), by(soon())), -ETIMEDOUT);
        CHECK_EQ(talk.write_until("hello", 5, by(far_off())), 5);
        CHECK_EQ(talk.read(bytes, sizeof(bytes)), 5u);
        CHECK_STR(bytes, "hello");
        CHECK(!talk.is_readable());
        CHECK(bool(talk.shutdown_until(by(far_off()))));
        CHECK_EQ(server.join(), 0u);
        CHECK_STR(talk.error().c_str(), "");
        talk.close();
        CHECK(!talk);
    });
}

TEST(a_server_that_is_not_known_is_not_trusted) {
    /* Nor one of another name; both descriptors are closed. */
    thrum::run([] {
        issued own;
        issued other;
        thrum::tls_config to_serve = own.server();
        const thrum::tls_config to_ask = own.client();
        const thrum::tls_config strange = other.client();
        thrum::listener listener(own_address().c_str());
        for (int i = 0; i < 2; i++) {
            auto server = thrum::spawn([&] {
                return code_of([&] {
                    thrum::tls talk(to_serve, listener.accept(), by(far_off()));
                    char byte;
                    (void)talk.read(&byte, 1);
                });
            });
            CHECK_EQ(code_of([&] {
                         thrum::tls none(i ? to_ask : strange, thrum::dial(own_address().c_str()),
                                         i ? "b.test" : "a.test", by(far_off()));
                     }),
                     EACCES);
            CHECK(server.join() > 0);
        }
        thrum_tls_options nothing = THRUM_TLS_OPTIONS_INIT;
        CHECK_EQ(code_of([&] { (void)thrum::tls_config::server(nothing); }), EINVAL);
        CHECK_EQ(code_of([&] { to_serve.reload(nothing); }), EINVAL);
        nothing.ca_file = "/nowhere/ca";
        CHECK_EQ(what_of([&] { (void)thrum::tls_config::client(&nothing); }).find("/nowhere/ca: "),
                 0);
    });
}

TEST(exceptions_of_handshakes_have_the_reason) {
    /* In both sides: what was wrong with the certificate, the alert, the time; or no connection. */
    thrum::run([] {
        issued own;
        issued other;
        const thrum::tls_config to_serve = own.server();
        const thrum::tls_config to_ask = own.client();
        const thrum::tls_config strange = other.client();
        thrum::listener listener(own_address().c_str());
        const auto asks = [&](const thrum::tls_config &config, const char *host, thrum_time when) {
            return what_of([&] {
                thrum::tls none(config, thrum::dial(own_address().c_str()), host, by(when));
            });
        };
        for (int i = 0; i < 2; i++) {
            auto server = thrum::spawn([&] {
                return what_of([&] {
                    thrum::tls talk(to_serve, listener.accept(), by(far_off()));
                    char byte;
                    (void)talk.read(&byte, 1); /* with TLS 1.3 the alert may come as late as here */
                });
            });
            CHECK_STR(asks(i ? to_ask : strange, i ? "b.test" : "a.test", far_off()).c_str(),
                      ((i ? "hostname mismatch: " : "self-signed certificate: ") + words_of(EACCES))
                          .c_str());
            const std::string heard = server.join();
            CHECK(heard.find("alert") != std::string::npos);
            CHECK(heard.find(": " + words_of(EPROTO)) != std::string::npos);
        }
        CHECK_STR(asks(to_ask, "a.test", soon()).c_str(), /* nobody answers */
                  ("the handshake took too long: " + words_of(ETIMEDOUT)).c_str());
        CHECK_STR(asks(to_ask, "", far_off()).c_str(), words_of(EINVAL).c_str());
    });
}

TEST(exceptions_of_open_connections_have_the_reason) {
    /* Bytes that just end, or are no TLS; reads and writes; without a connection no words. */
    thrum::run([] {
        issued own;
        const thrum::tls_config to_serve = own.server();
        const thrum::tls_config to_ask = own.client();
        thrum::listener listener(own_address().c_str());
        char byte;
        for (int i = 0; i < 2; i++) {
            auto server = thrum::spawn([&] {
                thrum::tls talk(to_serve, listener.accept(), by(far_off()));
                if (i == 1) {
                    CHECK_EQ(thrum_write(talk.descriptor(), "no TLS", 6), 6);
                }
            }); /* at its end the destructor sends nothing */
            thrum::tls talk(to_ask, thrum::dial(own_address().c_str()), "a.test", by(far_off()));
            server.join();
            const std::string what = what_of([&] { (void)talk.read(&byte, 1); });
            CHECK(!talk.error().empty());
            CHECK_STR(what.c_str(),
                      (talk.error() + ": " + words_of(i == 1 ? EPROTO : ECONNRESET)).c_str());
            if (i == 1) {
                CHECK_STR(what_of([&] { talk.write("x", 1); }).c_str(), what.c_str());
            }
        }
        thrum::tls none;
        CHECK_STR(none.error().c_str(), "");
        CHECK_STR(what_of([&] { (void)none.read(&byte, 1); }).c_str(), words_of(EINVAL).c_str());
        CHECK_STR(what_of([&] { none.write("x", 1); }).c_str(), words_of(EINVAL).c_str());
    });
}
