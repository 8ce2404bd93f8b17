/*
 * cpp_files.cpp: a file is written and read at places, locked for a block, and found in its
 * directory. No worker waits for the device.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thrum/thrum.hpp>

int main() {
    char folder[] = "/tmp/thrum-cpp-files-XXXXXX";
    if (!mkdtemp(folder)) {
        return 1;
    }
    const std::string path = std::string(folder) + "/journal";
    const int result = thrum::run([&] {
        thrum::file journal(path.c_str(), THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE);
        {
            thrum::file_lock lock(journal, THRUM_FILE_WRITE);
            journal.pwrite("first second", 12, 0);
            journal.sync_data();
        }
        char word[7] = "";
        journal.pread(word, 6, 6);
        int found = 0;
        for (const thrum_dir_entry &entry : thrum::dir(folder)) {
            std::printf("%s: %llu bytes, %s\n", entry.name,
                        static_cast<unsigned long long>(journal.info().size), word);
            found++;
        }
        thrum::check(thrum_file_unlink(path.c_str(), THRUM_FOREVER));
        thrum::check(thrum_file_rmdir(folder, THRUM_FOREVER));
        return found == 1 && std::strcmp(word, "second") == 0 ? 0 : 1;
    });
    return result;
}
