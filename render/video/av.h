/* libavcodec and its kin, loaded when the first video is opened: their hundred libraries would double the
 * time that every other call of the program takes to start. */
#pragma once

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include "base/status.h"

/* X(library, function): what a video needs of each. */
#define LUD_AV_FUNCTIONS(X)                                                                                  \
    X(avutil, av_frame_alloc)                                                                                \
    X(avutil, av_frame_free)                                                                                 \
    X(avutil, av_frame_get_buffer)                                                                           \
    X(avutil, av_frame_make_writable)                                                                        \
    X(avutil, av_free)                                                                                       \
    X(avutil, av_freep)                                                                                      \
    X(avutil, av_log_set_level)                                                                              \
    X(avutil, av_malloc)                                                                                     \
    X(avutil, av_opt_set)                                                                                    \
    X(avutil, av_strerror)                                                                                   \
    X(swscale, sws_freeContext)                                                                              \
    X(swscale, sws_getCoefficients)                                                                          \
    X(swscale, sws_getContext)                                                                               \
    X(swscale, sws_scale)                                                                                    \
    X(swscale, sws_setColorspaceDetails)                                                                     \
    X(avcodec, av_packet_alloc)                                                                              \
    X(avcodec, av_packet_free)                                                                               \
    X(avcodec, av_packet_rescale_ts)                                                                         \
    X(avcodec, avcodec_alloc_context3)                                                                       \
    X(avcodec, avcodec_find_encoder_by_name)                                                                 \
    X(avcodec, avcodec_free_context)                                                                         \
    X(avcodec, avcodec_open2)                                                                                \
    X(avcodec, avcodec_parameters_from_context)                                                              \
    X(avcodec, avcodec_receive_packet)                                                                       \
    X(avcodec, avcodec_send_frame)                                                                           \
    X(avformat, av_interleaved_write_frame)                                                                  \
    X(avformat, av_write_trailer)                                                                            \
    X(avformat, avformat_alloc_output_context2)                                                              \
    X(avformat, avformat_free_context)                                                                       \
    X(avformat, avformat_new_stream)                                                                         \
    X(avformat, avformat_write_header)                                                                       \
    X(avformat, avio_alloc_context)                                                                          \
    X(avformat, avio_context_free)                                                                           \
    X(avformat, avio_flush)

/* The functions under their own names, with their own types. */
typedef struct lud_av {
#define X(library, function) __typeof__(function) *function;
    LUD_AV_FUNCTIONS(X)
#undef X
} lud_av;

/* Loads the libraries of the versions that this build was made with. LUD_ERROR_UNSUPPORTED names the one that
 * is missing. They stay loaded for the life of the program. */
lud_status lud_av_load(lud_av *av, lud_error *error);
