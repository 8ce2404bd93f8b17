import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get


class ThrumConan(ConanFile):
    name = "thrum"
    version = "0.1.0"
    description = "Task and fiber scheduler for C and C++: blocking code, very many tasks, few threads"
    license = "MIT"
    topics = ("fibers", "scheduler", "concurrency", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": False}
    implements = ["auto_shared_fpic"]

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("this recipe is for Linux only")

    def requirements(self):
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, f"@URL@/thrum-{self.version}.tar.gz", sha256="@SHA256@", strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["THRUM_SHARED"] = bool(self.options.shared)
        toolchain.cache_variables["THRUM_STATIC_PIC"] = bool(self.options.get_safe("fPIC"))
        toolchain.cache_variables["THRUM_TLS"] = bool(self.options.tls)
        toolchain.cache_variables["THRUM_MPI"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package's own files for CMake define thrum::thrum, thrum::thrum_static and thrum::tls.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "thrum")]
        self.cpp_info.components["core"].set_property("pkg_config_name", "thrum")
        self.cpp_info.components["core"].libs = ["thrum"]
        self.cpp_info.components["core"].system_libs = ["pthread"]
        if self.options.tls:
            self.cpp_info.components["tls"].set_property("pkg_config_name", "thrum-tls")
            self.cpp_info.components["tls"].libs = ["thrum-tls"]
            self.cpp_info.components["tls"].requires = ["core", "openssl::openssl"]
