#include "render/video/av.h"

#include <dlfcn.h>
#include <string.h>

#define TEXT_OF(x)              #x
#define FILE_OF(library, major) "lib" #library ".so." TEXT_OF(major)

enum { AVUTIL, SWSCALE, AVCODEC, AVFORMAT, N_LIBRARIES };
static const char *const files[N_LIBRARIES] = {
    FILE_OF(avutil, LIBAVUTIL_VERSION_MAJOR), FILE_OF(swscale, LIBSWSCALE_VERSION_MAJOR),
    FILE_OF(avcodec, LIBAVCODEC_VERSION_MAJOR), FILE_OF(avformat, LIBAVFORMAT_VERSION_MAJOR)};

/* A function of a library into a field; a pointer to a function is no pointer to an object in C. */
static lud_status find(void *handle, int library, const char *name, void *field, lud_error *error) {
    void *symbol = dlsym(handle, name);
    if (!symbol)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s on this machine has no function %s", files[library],
                        name);
    memcpy(field, &symbol, sizeof symbol);
    return LUD_OK;
}

lud_status lud_av_load(lud_av *av, lud_error *error) {
    enum { avutil = AVUTIL, swscale = SWSCALE, avcodec = AVCODEC, avformat = AVFORMAT };
    void *handles[N_LIBRARIES];
    for (int k = 0; k < N_LIBRARIES; k++)
        if (!(handles[k] = dlopen(files[k], RTLD_LAZY | RTLD_LOCAL)))
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "videos need %s, which is not on this machine (%s); .png works without it",
                            files[k], dlerror());
#define X(library, function) LUD_TRY(find(handles[library], library, #function, &av->function, error));
    LUD_AV_FUNCTIONS(X)
#undef X
    return LUD_OK;
}
