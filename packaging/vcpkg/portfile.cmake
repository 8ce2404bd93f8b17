vcpkg_download_distfile(archive
    URLS "@URL@/thrum-${VERSION}.tar.gz"
    FILENAME "thrum-${VERSION}.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
    tls THRUM_TLS
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DTHRUM_SHARED=${shared}
        -DTHRUM_MPI=OFF
        ${features}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/thrum)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/debug/bin"
)
# The tools are scripts, which vcpkg keeps apart from libraries.
file(GLOB scripts "${CURRENT_PACKAGES_DIR}/bin/*")
file(COPY ${scripts} DESTINATION "${CURRENT_PACKAGES_DIR}/tools/thrum")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
