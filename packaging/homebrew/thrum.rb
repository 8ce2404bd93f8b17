class Thrum < Formula
  desc "Task and fiber scheduler for C and C++"
  url "@URL@/thrum-0.1.0.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cmake" => :build
  depends_on :linux
  depends_on "openssl@3"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DTHRUM_MPI=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"test.c").write <<~C
      #include <string.h>
      #include <thrum.h>

      int main(void) { return strcmp(thrum_version(), "#{version}") != 0; }
    C
    system ENV.cc, "test.c", "-I#{include}", "-L#{lib}", "-lthrum", "-o", "test"
    system "./test"
  end
end
