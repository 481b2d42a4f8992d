#include "kernels/cpu/onednn_calls.h"

#include <new>

namespace {

template <auto function> struct guarded;

template <typename... Arguments, dnnl_status_t (*function)(Arguments...)> struct guarded<function> {
    static dnnl_status_t call(Arguments... arguments) noexcept {
        try {
            return function(arguments...);
        } catch (const std::bad_alloc &) {
            return dnnl_out_of_memory;
        } catch (...) {
            return dnnl_runtime_error;
        }
    }
};

} // namespace

extern "C" const lud_onednn_calls lud_onednn = {
#define LUD_ONEDNN_CALL(name) guarded<&dnnl_##name>::call,
    LUD_ONEDNN_CALLS(LUD_ONEDNN_CALL)
#undef LUD_ONEDNN_CALL
};
