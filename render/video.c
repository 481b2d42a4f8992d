#include "render/video.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "render/av.h"
#include "render/canvas/palette.h"
#include "render/canvas/picture.h"

enum { IO_BYTES = 1 << 16 };

typedef struct format {
    const char *ending, *muxer;
    const char *encoders[3]; /* in order of preference */
    enum AVPixelFormat pixels;
} format;

static const format formats[] = {
    {".mp4", "mp4", {"libx264", NULL}, AV_PIX_FMT_YUV420P},
    {".webm", "webm", {"libvpx-vp9", "libvpx", NULL}, AV_PIX_FMT_YUV420P},
    {".gif", "gif", {"gif", NULL}, AV_PIX_FMT_PAL8},
    {".png", NULL, {NULL}, AV_PIX_FMT_NONE},
};

struct lud_video {
    lud_av av; /* empty for pictures */
    const format *format;
    lud_video_options options;
    lud_file_writer writer;
    AVFormatContext *muxer;
    AVIOContext *io;
    AVCodecContext *encoder;
    AVStream *stream;
    AVFrame *frame;
    AVPacket *packet;
    struct SwsContext *scaler;
    lud_palette *palette;
    int64_t n_frames;
    int io_error;     /* errno of the first write that failed */
    bool trailer_due; /* the header is written */
    char *path;       /* png sequences: the name before the number */
};

static const format *format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    for (size_t k = 0; dot && k < sizeof formats / sizeof *formats; k++)
        if (!strcasecmp(dot, formats[k].ending)) return &formats[k];
    return NULL;
}

lud_status lud_video_check_path(const char *path, lud_error *error) {
    if (format_of(path)) return LUD_OK;
    return lud_invalid(
        error, "%s: cannot tell the kind of file from its ending; use .mp4, .webm, .gif or .png", path);
}

/* ---- writing through the atomic file writer ---- */

static int write_bytes(void *opaque, uint8_t *bytes, int n) {
    lud_video *v = opaque;
    if (fwrite(bytes, 1, (size_t)n, v->writer.stream) == (size_t)n) return n;
    if (!v->io_error) v->io_error = errno ? errno : EIO;
    return AVERROR(v->io_error);
}

static int64_t seek_to(void *opaque, int64_t offset, int whence) {
    lud_video *v = opaque;
    if (whence == AVSEEK_SIZE) return -1;
    if (fseeko(v->writer.stream, offset, whence)) return AVERROR(errno);
    return ftello(v->writer.stream);
}

static lud_status failed(const lud_video *v, int code, const char *what, lud_error *error) {
    const lud_av *av = &v->av;
    if (v->io_error)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", v->path, strerror(v->io_error));
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av->av_strerror(code, text, sizeof text);
    return lud_fail(error, code == AVERROR(ENOMEM) ? LUD_ERROR_MEMORY : LUD_ERROR_UNSUPPORTED,
                    "%s: cannot %s: %s", v->path, what, text);
}

/* ---- opening ---- */

static const AVCodec *encoder_of(const lud_av *av, const format *f) {
    const AVCodec *codec = NULL;
    for (int k = 0; !codec && f->encoders[k]; k++) codec = av->avcodec_find_encoder_by_name(f->encoders[k]);
    return codec;
}

static int open_encoder(lud_video *v, const AVCodec *codec) {
    const lud_av *av = &v->av;
    AVCodecContext *c = v->encoder = av->avcodec_alloc_context3(codec);
    if (!c) return AVERROR(ENOMEM);
    c->width = v->options.width;
    c->height = v->options.height;
    c->time_base = (AVRational){1, v->options.fps};
    c->framerate = (AVRational){v->options.fps, 1};
    c->pix_fmt = v->format->pixels;
    c->thread_count = 1; /* more threads give other bytes */
    c->flags |= AV_CODEC_FLAG_BITEXACT;
    if (v->muxer->oformat->flags & AVFMT_GLOBALHEADER) c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (v->format->pixels == AV_PIX_FMT_YUV420P) {
        c->colorspace = AVCOL_SPC_BT709;
        c->color_primaries = AVCOL_PRI_BT709;
        c->color_trc = AVCOL_TRC_BT709;
        c->color_range = AVCOL_RANGE_MPEG;
        c->gop_size = v->options.fps * 4;
    }
    static const struct {
        const char *encoder, *key, *value;
    } settings[] = {{"libx264", "preset", "veryfast"}, {"libx264", "tune", "animation"},
                    {"libx264", "crf", "18"},          {"libvpx", "deadline", "good"},
                    {"libvpx", "cpu-used", "5"},       {"libvpx", "crf", "24"},
                    {"libvpx", "row-mt", "0"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strncmp(codec->name, settings[i].encoder, strlen(settings[i].encoder)) != 0) continue;
        const int set = av->av_opt_set(c->priv_data, settings[i].key, settings[i].value, 0);
        if (set < 0 && set != AVERROR_OPTION_NOT_FOUND) return set; /* versions differ in what they offer */
        c->bit_rate = !strncmp(codec->name, "libvpx", 6) ? 0 : c->bit_rate;
    }
    int code = av->avcodec_open2(c, codec, NULL);
    if (code >= 0) code = av->avcodec_parameters_from_context(v->stream->codecpar, c);
    v->stream->time_base = c->time_base;
    v->stream->avg_frame_rate = c->framerate;
    return code;
}

static int open_frame(lud_video *v) {
    const lud_av *av = &v->av;
    v->frame = av->av_frame_alloc();
    v->packet = av->av_packet_alloc();
    if (!v->frame || !v->packet) return AVERROR(ENOMEM);
    v->frame->format = v->format->pixels;
    v->frame->width = v->options.width;
    v->frame->height = v->options.height;
    int code = av->av_frame_get_buffer(v->frame, 0);
    if (code < 0) return code;
    if (v->format->pixels == AV_PIX_FMT_PAL8) {
        v->palette = lud_palette_create();
        return v->palette ? 0 : AVERROR(ENOMEM);
    }
    v->frame->colorspace = AVCOL_SPC_BT709;
    v->frame->color_range = AVCOL_RANGE_MPEG;
    v->scaler = av->sws_getContext(v->options.width, v->options.height, AV_PIX_FMT_BGR0, v->options.width,
                                   v->options.height, v->format->pixels,
                                   SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INP, NULL,
                                   NULL, NULL);
    if (!v->scaler) return AVERROR(ENOMEM);
    const int *bt709 = av->sws_getCoefficients(SWS_CS_ITU709);
    av->sws_setColorspaceDetails(v->scaler, bt709, 1, bt709, 0, 0, 1 << 16, 1 << 16);
    return 0;
}

static lud_status open_stream(lud_video *v, lud_error *error) {
    const lud_av *av = &v->av;
    LUD_TRY(lud_av_load(&v->av, error));
    av->av_log_set_level(AV_LOG_ERROR);
    const AVCodec *codec = encoder_of(av, v->format);
    if (!codec)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: libavcodec on this machine has no encoder %s",
                        v->path, v->format->encoders[0]);
    lud_file_remove_leftovers(v->path);
    LUD_TRY(lud_file_write_begin(&v->writer, v->path, error));
    uint8_t *buffer = av->av_malloc(IO_BYTES);
    v->io = buffer ? av->avio_alloc_context(buffer, IO_BYTES, 1, v, NULL, write_bytes, seek_to) : NULL;
    if (!v->io) {
        av->av_free(buffer);
        return failed(v, AVERROR(ENOMEM), "write", error);
    }
    int code = av->avformat_alloc_output_context2(&v->muxer, NULL, v->format->muxer, NULL);
    if (code < 0) return failed(v, code, "open the container", error);
    v->muxer->pb = v->io;
    v->muxer->flags |= AVFMT_FLAG_BITEXACT | AVFMT_FLAG_CUSTOM_IO;
    v->stream = av->avformat_new_stream(v->muxer, NULL);
    if (!v->stream) return failed(v, AVERROR(ENOMEM), "open the container", error);
    code = open_encoder(v, codec);
    if (code < 0) return failed(v, code, "open the encoder", error);
    code = open_frame(v);
    if (code < 0) return failed(v, code, "open the encoder", error);
    code = av->avformat_write_header(v->muxer, NULL);
    if (code < 0) return failed(v, code, "write the header", error);
    v->trailer_due = true;
    return LUD_OK;
}

static void destroy(lud_video *v) {
    const lud_av *av = &v->av;
    if (v->scaler) av->sws_freeContext(v->scaler);
    if (v->frame) av->av_frame_free(&v->frame);
    if (v->packet) av->av_packet_free(&v->packet);
    if (v->encoder) av->avcodec_free_context(&v->encoder);
    if (v->muxer) av->avformat_free_context(v->muxer);
    if (v->io) {
        av->av_freep(&v->io->buffer);
        av->avio_context_free(&v->io);
    }
    lud_palette_destroy(v->palette);
    free(v->path);
    free(v);
}

/* Muxers may keep packets that nothing but their trailer frees, so a file that is given up gets one too. */
static int write_trailer(lud_video *v) {
    if (!v->trailer_due) return 0;
    v->trailer_due = false;
    return v->av.av_write_trailer(v->muxer);
}

void lud_video_abandon(lud_video *video) {
    if (!video) return;
    write_trailer(video);
    lud_file_write_abandon(&video->writer);
    destroy(video);
}

lud_status lud_video_open(const char *path, lud_video_options options, lud_video **video, lud_error *error) {
    LUD_TRY(lud_video_check_path(path, error));
    const format *f = format_of(path);
    bool even = f->pixels != AV_PIX_FMT_YUV420P || (options.width % 2 == 0 && options.height % 2 == 0);
    if (options.width < 16 || options.height < 16 || options.width > 4096 || options.height > 4096 || !even)
        return lud_invalid(error, "%s: a picture of %d x %d cannot be recorded; sides go from 16 to 4096%s",
                           path, options.width, options.height, even ? "" : " and are even for mp4 and webm");
    if (options.fps < 1 || options.fps > 240)
        return lud_invalid(error, "%s: %d frames a second; 1 to 240 are possible", path, options.fps);
    lud_video *v = calloc(1, sizeof *v);
    if (v) {
        v->format = f;
        v->options = options;
        v->path = strdup(path);
    }
    if (!v || !v->path) {
        if (v) destroy(v);
        return lud_no_memory(error, "a video");
    }
    const lud_status status = f->muxer ? open_stream(v, error) : LUD_OK;
    if (status)
        lud_video_abandon(v);
    else
        *video = v;
    return status;
}

/* ---- frames ---- */

static lud_status add_png(lud_video *v, const uint32_t *pixels, int pitch, lud_error *error) {
    size_t length = strlen(v->path) + 16;
    char *name = malloc(length);
    if (!name) return lud_no_memory(error, "a frame");
    int stem = (int)(strrchr(v->path, '.') - v->path);
    snprintf(name, length, "%.*s-%05lld%s", stem, v->path, (long long)v->n_frames, v->path + stem);
    lud_status status = lud_picture_write(name, pixels, v->options.width, v->options.height, pitch, error);
    free(name);
    return status;
}

static int send(lud_video *v, const AVFrame *frame) {
    const lud_av *av = &v->av;
    int code = av->avcodec_send_frame(v->encoder, frame);
    while (code >= 0) {
        code = av->avcodec_receive_packet(v->encoder, v->packet);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return 0;
        if (code < 0) break;
        if (!v->packet->duration) v->packet->duration = 1;
        av->av_packet_rescale_ts(v->packet, v->encoder->time_base, v->stream->time_base);
        v->packet->stream_index = v->stream->index;
        code = av->av_interleaved_write_frame(v->muxer, v->packet);
        if (code >= 0 && v->io_error) code = AVERROR(v->io_error);
    }
    return code;
}

lud_status lud_video_add(lud_video *v, const uint32_t *pixels, int pitch, lud_error *error) {
    const lud_av *av = &v->av;
    v->n_frames++;
    if (!v->format->muxer) return add_png(v, pixels, pitch, error);
    int code = av->av_frame_make_writable(v->frame);
    if (code < 0) return failed(v, code, "encode", error);
    if (v->palette) {
        uint32_t colours[256];
        lud_palette_translate(v->palette, pixels, v->options.width, v->options.height, pitch,
                              v->frame->data[0], v->frame->linesize[0], colours);
        memcpy(v->frame->data[1], colours, sizeof colours);
    } else {
        const uint8_t *source[1] = {(const uint8_t *)pixels};
        av->sws_scale(v->scaler, source, &pitch, 0, v->options.height, v->frame->data, v->frame->linesize);
    }
    v->frame->pts = v->n_frames - 1;
    code = send(v, v->frame);
    return code < 0 ? failed(v, code, "encode", error) : LUD_OK;
}

lud_status lud_video_finish(lud_video *v, lud_error *error) {
    const lud_av *av = &v->av;
    lud_status status = LUD_OK;
    if (v->format->muxer) {
        int code = send(v, NULL);
        int closed = write_trailer(v);
        if (code >= 0) code = closed;
        if (code >= 0) av->avio_flush(v->io);
        if (code < 0 || v->io_error) status = failed(v, code, "complete the file", error);
        if (!status)
            status = lud_file_write_commit(&v->writer, error);
        else
            lud_file_write_abandon(&v->writer);
    }
    destroy(v);
    return status;
}
