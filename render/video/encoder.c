#include "render/video/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "render/canvas/palette.h"
#include "render/video/av.h"

enum { IO_BYTES = 1 << 16, PENDING_BYTES = 64 << 20 };

struct lud_encoder {
    lud_av av;
    const lud_encoding *encoding;
    lud_video_options options;
    lud_file_writer writer;
    AVFormatContext *muxer;
    AVIOContext *io;
    AVCodecContext *codec;
    AVStream *stream;
    AVFrame *frame;
    AVPacket *packet;
    struct SwsContext *scaler;
    lud_palette *palette;
    uint16_t **pending; /* [n_pending] pictures of width x height words (render/canvas/palette.h) */
    size_t n_pending, most_pending;
    int64_t n_frames;
    int io_error;     /* errno of the first write that failed */
    bool trailer_due; /* the header is written */
    char *path;
};

lud_status lud_encoder_check(const char *path, lud_error *error) {
    (void)path, (void)error;
    return LUD_OK;
}

static enum AVPixelFormat pixels_of(const lud_encoder *e) {
    return e->encoding->palette ? AV_PIX_FMT_PAL8 : AV_PIX_FMT_YUV420P;
}

/* Of a picture that waits. */
static size_t picture_bytes(const lud_encoder *e) {
    return (size_t)e->options.width * (size_t)e->options.height * sizeof(uint16_t);
}

/* ---- writing through the atomic file writer ---- */

static int write_bytes(void *opaque, uint8_t *bytes, int n) {
    lud_encoder *e = opaque;
    if (fwrite(bytes, 1, (size_t)n, e->writer.stream) == (size_t)n) return n;
    if (!e->io_error) e->io_error = errno ? errno : EIO;
    return AVERROR(e->io_error);
}

static int64_t seek_to(void *opaque, int64_t offset, int whence) {
    lud_encoder *e = opaque;
    if (whence == AVSEEK_SIZE) return -1;
    if (fseeko(e->writer.stream, offset, whence)) return AVERROR(errno);
    return ftello(e->writer.stream);
}

static lud_status failed(const lud_encoder *e, int code, const char *what, lud_error *error) {
    const lud_av *av = &e->av;
    if (e->io_error)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", e->path, strerror(e->io_error));
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av->av_strerror(code, text, sizeof text);
    return lud_fail(error, code == AVERROR(ENOMEM) ? LUD_ERROR_MEMORY : LUD_ERROR_UNSUPPORTED,
                    "%s: cannot %s: %s", e->path, what, text);
}

/* ---- opening ---- */

static const AVCodec *codec_of(const lud_av *av, const lud_encoding *encoding) {
    const AVCodec *codec = NULL;
    for (int k = 0; !codec && encoding->encoders[k]; k++)
        codec = av->avcodec_find_encoder_by_name(encoding->encoders[k]);
    return codec;
}

static int open_encoder(lud_encoder *e, const AVCodec *codec) {
    const lud_av *av = &e->av;
    AVCodecContext *c = e->codec = av->avcodec_alloc_context3(codec);
    if (!c) return AVERROR(ENOMEM);
    c->width = e->options.width;
    c->height = e->options.height;
    c->time_base = (AVRational){1, e->options.fps};
    c->framerate = (AVRational){e->options.fps, 1};
    c->pix_fmt = pixels_of(e);
    c->thread_count = 1; /* more threads give other bytes */
    c->flags |= AV_CODEC_FLAG_BITEXACT;
    if (e->muxer->oformat->flags & AVFMT_GLOBALHEADER) c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (!e->encoding->palette) {
        c->colorspace = AVCOL_SPC_BT709;
        c->color_primaries = AVCOL_PRI_BT709;
        c->color_trc = AVCOL_TRC_BT709;
        c->color_range = AVCOL_RANGE_MPEG;
        c->gop_size = e->options.fps * 4;
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
    if (code >= 0) code = av->avcodec_parameters_from_context(e->stream->codecpar, c);
    e->stream->time_base = c->time_base;
    e->stream->avg_frame_rate = c->framerate;
    return code;
}

static int open_frame(lud_encoder *e) {
    const lud_av *av = &e->av;
    e->frame = av->av_frame_alloc();
    e->packet = av->av_packet_alloc();
    if (!e->frame || !e->packet) return AVERROR(ENOMEM);
    e->frame->format = pixels_of(e);
    e->frame->width = e->options.width;
    e->frame->height = e->options.height;
    int code = av->av_frame_get_buffer(e->frame, 0);
    if (code < 0) return code;
    if (e->encoding->palette) {
        e->most_pending = (PENDING_BYTES - 1) / picture_bytes(e) + 1;
        e->pending = calloc(e->most_pending, sizeof *e->pending);
        e->palette = lud_palette_create();
        return e->pending && e->palette ? 0 : AVERROR(ENOMEM);
    }
    e->frame->colorspace = AVCOL_SPC_BT709;
    e->frame->color_range = AVCOL_RANGE_MPEG;
    e->scaler = av->sws_getContext(
        e->options.width, e->options.height, AV_PIX_FMT_BGR0, e->options.width, e->options.height,
        pixels_of(e), SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
    if (!e->scaler) return AVERROR(ENOMEM);
    const int *bt709 = av->sws_getCoefficients(SWS_CS_ITU709);
    av->sws_setColorspaceDetails(e->scaler, bt709, 1, bt709, 0, 0, 1 << 16, 1 << 16);
    return 0;
}

static lud_status open_stream(lud_encoder *e, lud_error *error) {
    const lud_av *av = &e->av;
    LUD_TRY(lud_av_load(&e->av, error));
    av->av_log_set_level(AV_LOG_ERROR);
    const AVCodec *codec = codec_of(av, e->encoding);
    if (!codec)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: libavcodec on this machine has no encoder %s",
                        e->path, e->encoding->encoders[0]);
    lud_file_remove_leftovers(e->path);
    LUD_TRY(lud_file_write_begin(&e->writer, e->path, error));
    uint8_t *buffer = av->av_malloc(IO_BYTES);
    e->io = buffer ? av->avio_alloc_context(buffer, IO_BYTES, 1, e, NULL, write_bytes, seek_to) : NULL;
    if (!e->io) {
        av->av_free(buffer);
        return failed(e, AVERROR(ENOMEM), "write", error);
    }
    int code = av->avformat_alloc_output_context2(&e->muxer, NULL, e->encoding->muxer, NULL);
    if (code < 0) return failed(e, code, "open the container", error);
    e->muxer->pb = e->io;
    e->muxer->flags |= AVFMT_FLAG_BITEXACT | AVFMT_FLAG_CUSTOM_IO;
    e->stream = av->avformat_new_stream(e->muxer, NULL);
    if (!e->stream) return failed(e, AVERROR(ENOMEM), "open the container", error);
    code = open_encoder(e, codec);
    if (code < 0) return failed(e, code, "open the encoder", error);
    code = open_frame(e);
    if (code < 0) return failed(e, code, "open the encoder", error);
    code = av->avformat_write_header(e->muxer, NULL);
    if (code < 0) return failed(e, code, "write the header", error);
    e->trailer_due = true;
    return LUD_OK;
}

static void destroy(lud_encoder *e) {
    const lud_av *av = &e->av;
    if (e->scaler) av->sws_freeContext(e->scaler);
    if (e->frame) av->av_frame_free(&e->frame);
    if (e->packet) av->av_packet_free(&e->packet);
    if (e->codec) av->avcodec_free_context(&e->codec);
    if (e->muxer) av->avformat_free_context(e->muxer);
    if (e->io) {
        av->av_freep(&e->io->buffer);
        av->avio_context_free(&e->io);
    }
    lud_palette_destroy(e->palette);
    for (size_t i = 0; i < e->n_pending; i++) free(e->pending[i]);
    free(e->pending);
    free(e->path);
    free(e);
}

/* Muxers may keep packets that nothing but their trailer frees, so a file that is given up gets one too. */
static int write_trailer(lud_encoder *e) {
    if (!e->trailer_due) return 0;
    e->trailer_due = false;
    return e->av.av_write_trailer(e->muxer);
}

void lud_encoder_abandon(lud_encoder *e) {
    if (!e) return;
    write_trailer(e);
    lud_file_write_abandon(&e->writer);
    destroy(e);
}

lud_status lud_encoder_open(const char *path, const lud_encoding *encoding, lud_video_options options,
                            lud_encoder **encoder, lud_error *error) {
    lud_encoder *e = calloc(1, sizeof *e);
    if (e) {
        e->encoding = encoding;
        e->options = options;
        e->path = strdup(path);
    }
    if (!e || !e->path) {
        if (e) destroy(e);
        return lud_no_memory(error, "a video");
    }
    const lud_status status = open_stream(e, error);
    if (status)
        lud_encoder_abandon(e);
    else
        *encoder = e;
    return status;
}

/* ---- frames ---- */

static int send(lud_encoder *e, const AVFrame *frame) {
    const lud_av *av = &e->av;
    int code = av->avcodec_send_frame(e->codec, frame);
    while (code >= 0) {
        code = av->avcodec_receive_packet(e->codec, e->packet);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return 0;
        if (code < 0) break;
        if (!e->packet->duration) e->packet->duration = 1;
        av->av_packet_rescale_ts(e->packet, e->codec->time_base, e->stream->time_base);
        e->packet->stream_index = e->stream->index;
        code = av->av_interleaved_write_frame(e->muxer, e->packet);
        if (code >= 0 && e->io_error) code = AVERROR(e->io_error);
    }
    return code;
}

static int send_next(lud_encoder *e) {
    e->frame->pts = e->n_frames++;
    return send(e, e->frame);
}

/* ---- pictures with a palette ----
 * A GIF whose palette stays the same says only what changes; with another palette every picture is whole. So
 * pictures wait until all colours are known, at the end or when they are PENDING_BYTES. */

static int keep(lud_encoder *e, const uint32_t *pixels, int pitch) {
    uint16_t *words = malloc(picture_bytes(e));
    if (!words) return AVERROR(ENOMEM);
    lud_palette_count(e->palette, pixels, e->options.width, e->options.height, pitch, words);
    e->pending[e->n_pending++] = words;
    return 0;
}

static int send_kept(lud_encoder *e) {
    int code = 0;
    for (size_t i = 0; i < e->n_pending && code >= 0; i++) {
        uint32_t colours[256];
        code = e->av.av_frame_make_writable(e->frame);
        if (code < 0) break;
        lud_palette_translate(e->palette, e->pending[i], e->options.width, e->options.height,
                              e->frame->data[0], e->frame->linesize[0], colours);
        memcpy(e->frame->data[1], colours, sizeof colours);
        code = send_next(e);
    }
    for (size_t i = 0; i < e->n_pending; i++) free(e->pending[i]);
    e->n_pending = 0;
    e->most_pending = 1; /* the palette is there */
    return code;
}

lud_status lud_encoder_add(lud_encoder *e, const uint32_t *pixels, int pitch, lud_error *error) {
    const lud_av *av = &e->av;
    int code;
    if (e->palette) {
        code = keep(e, pixels, pitch);
        if (code >= 0 && e->n_pending == e->most_pending) code = send_kept(e);
    } else {
        const uint8_t *source[1] = {(const uint8_t *)pixels};
        code = av->av_frame_make_writable(e->frame);
        if (code >= 0) {
            av->sws_scale(e->scaler, source, &pitch, 0, e->options.height, e->frame->data,
                          e->frame->linesize);
            code = send_next(e);
        }
    }
    return code < 0 ? failed(e, code, "encode", error) : LUD_OK;
}

lud_status lud_encoder_finish(lud_encoder *e, lud_error *error) {
    const lud_av *av = &e->av;
    int code = send_kept(e);
    const char *const doing = code < 0 ? "encode" : "complete the file";
    if (code >= 0) code = send(e, NULL);
    const int closed = write_trailer(e);
    if (code >= 0) code = closed;
    if (code >= 0) av->avio_flush(e->io);
    lud_status status = LUD_OK;
    if (code < 0 || e->io_error) status = failed(e, code, doing, error);
    if (!status)
        status = lud_file_write_commit(&e->writer, error);
    else
        lud_file_write_abandon(&e->writer);
    destroy(e);
    return status;
}
