/* Recordings, read back by FFmpeg. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

/* Calls each(data, frame, k) of every frame; null: nothing. Returns how many there are, and their size. */
static inline int read_video(const char *path, int *width, int *height,
                             void (*each)(void *data, const AVFrame *frame, int k), void *data) {
    AVFormatContext *input = NULL;
    assert_int_equal(avformat_open_input(&input, path, NULL, NULL), 0);
    assert_true(avformat_find_stream_info(input, NULL) >= 0);
    assert_int_equal(input->nb_streams, 1);
    const AVCodecParameters *parameters = input->streams[0]->codecpar;
    AVCodecContext *decoder = avcodec_alloc_context3(avcodec_find_decoder(parameters->codec_id));
    assert_int_equal(avcodec_parameters_to_context(decoder, parameters), 0);
    assert_int_equal(avcodec_open2(decoder, NULL, NULL), 0);
    *width = parameters->width;
    *height = parameters->height;
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    int k = 0;
    for (bool end = false; !end;) {
        end = av_read_frame(input, packet) < 0;
        avcodec_send_packet(decoder, end ? NULL : packet);
        av_packet_unref(packet);
        for (; avcodec_receive_frame(decoder, frame) == 0; k++)
            if (each) each(data, frame, k);
    }
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&decoder);
    avformat_close_input(&input);
    return k;
}
