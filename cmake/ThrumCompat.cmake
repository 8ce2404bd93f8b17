# Headers with the names of other libraries over thrum's public ones (compat/README.md): each folder of compat/ is a
# room of headers, and no code is compiled here. thrum::compat is over the shared library, thrum::compat_static over the
# static one.
function(thrum_compat_library target library name)
  add_library(${target} INTERFACE)
  add_library(thrum::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/compat>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/thrum-compat>)
  target_link_libraries(${target} INTERFACE ${library})
endfunction()

thrum_compat_library(thrum_compat_static thrum_static compat_static)
if(THRUM_SHARED)
  thrum_compat_library(thrum_compat thrum compat)
endif()
