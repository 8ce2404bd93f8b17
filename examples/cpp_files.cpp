/*
 * cpp_files.cpp: a file is written and read at places, locked for a block, and found in its
 * directory. No worker waits for the device.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thrum/thrum.hpp>

static bool write_and_find(const std::string &folder, const std::string &path) {
    thrum::file journal(path.c_str(), THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE);
    {
        thrum::file_lock lock(journal, THRUM_FILE_WRITE);
        journal.pwrite("first second", 12, 0);
        journal.sync_data();
    }
    char word[7] = "";
    journal.pread(word, 6, 6);
    int found = 0;
    for (const thrum_dir_entry &entry : thrum::dir(folder.c_str())) {
        std::printf("%s: %llu bytes, %s\n", entry.name,
                    static_cast<unsigned long long>(journal.info().size), word);
        found++;
    }
    return found == 1 && std::strcmp(word, "second") == 0;
}

int main() {
    const char *temporary = std::getenv("TEMP"); // where Windows has its own
    const std::string folder = std::string(temporary ? temporary : "/tmp") + "/thrum-cpp-files-" +
                               std::to_string(thrum_now());
    const std::string path = folder + "/journal";
    return thrum::run([&] {
        thrum::check(thrum_file_mkdir(folder.c_str(), 0700, THRUM_FOREVER));
        const bool found = write_and_find(folder, path);
        thrum::check(thrum_file_unlink(path.c_str(), THRUM_FOREVER));
        thrum::check(thrum_file_rmdir(folder.c_str(), THRUM_FOREVER));
        return found ? 0 : 1;
    });
}
