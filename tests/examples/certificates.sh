# certificates FOLDER: makes ca.pem and others.pem (who issue), and with its key NAME.pem for the host a.test
# and 127.0.0.1: own, next (issued by ca) and odd (by others). Needs openssl.
certificates() (
    cd "$1" || exit 1
    for issuer in ca others; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$issuer" \
            -keyout $issuer.key -out $issuer.pem 2>/dev/null || exit 1
    done
    printf 'subjectAltName=DNS:a.test,IP:127.0.0.1\n' >names
    for name in own next odd; do
        issuer=ca
        [ $name != odd ] || issuer=others
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
            -keyout $name.key -out $name.csr 2>/dev/null &&
            openssl x509 -req -in $name.csr -CA $issuer.pem -CAkey $issuer.key -CAcreateserial -days 2 \
                -extfile names -out $name.pem 2>/dev/null || exit 1
    done
)
