{
  lib,
  stdenv,
  fetchurl,
  cmake,
  python3,
  openssl,
  withTls ? true,
}:

stdenv.mkDerivation rec {
  pname = "thrum";
  version = "0.1.0";

  src = fetchurl {
    url = "@URL@/thrum-${version}.tar.gz";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [
    cmake
    python3
  ];
  propagatedBuildInputs = lib.optional withTls openssl;

  cmakeFlags = [
    (lib.cmakeBool "THRUM_MPI" false)
    (lib.cmakeBool "THRUM_TLS" withTls)
    # thrum.pc has paths relative to itself: these are not absolute.
    (lib.cmakeFeature "CMAKE_INSTALL_LIBDIR" "lib")
    (lib.cmakeFeature "CMAKE_INSTALL_INCLUDEDIR" "include")
  ];

  meta = {
    description = "Task and fiber scheduler for C and C++";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
  };
}
