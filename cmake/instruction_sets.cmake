# The float operations are compiled three times; the CPU device picks one at run time. Elementary functions are written
# without branches, so that these flags let the compiler vectorise them; none allows it to change a result.
set(kernel_flags $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-trapping-math)
# The plain ones run on no machine of the last ten years, those in double precision only in checks: built in half the time.
set(checking_flags $<$<NOT:$<CONFIG:Debug>>:-O1> -fno-trapping-math)
if(LUDUS_FUZZ)
  list(APPEND kernel_flags -O0) # where no target computes much and clang would take minutes
endif()
set_source_files_properties(kernels/cpu/ops_plain.c kernels/cpu/ops_f64.c PROPERTIES COMPILE_OPTIONS "${checking_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(kernels/cpu/ops_avx2.c PROPERTIES COMPILE_OPTIONS "${kernel_flags};-mavx2;-mfma")
  set_source_files_properties(kernels/cpu/ops_avx512.c PROPERTIES COMPILE_OPTIONS
    "${kernel_flags};-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw;-mfma;-mprefer-vector-width=512")
endif()
