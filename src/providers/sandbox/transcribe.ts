// Transcripts of the sandbox: a sentence about the file, the same for the same file, in every format.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../wire/wire.ts';
import type { Attempt, OtherReply } from '../provider.ts';
import { captionsReply, readTranscriptionRequest, transcriptionReply } from '../transcription.ts';

export async function transcribe(attempt: Attempt, requestId: string): Promise<OtherReply> {
  const { format, isStream, task } = readTranscriptionRequest(attempt);
  const { seconds = 0 } = attempt.request.units?.counts ?? {};
  const hash = createHash('sha256');
  for (const file of attempt.request.form?.files ?? []) for await (const piece of file.read()) hash.update(piece);
  const digest = hash.digest('hex').slice(0, 8);
  const text = `The sandbox heard ${seconds} ${seconds === 1 ? 'second' : 'seconds'} of sound with the checksum ${digest}.`;
  if (!isStream && (format === 'srt' || format === 'vtt'))
    return captionsReply(attempt, captions(format, seconds, text), requestId);
  const usage = { type: 'duration', seconds };
  const verbose = {
    task: task === 'translations' ? 'translate' : 'transcribe',
    language: 'english',
    duration: seconds,
  };
  const answer = { ...detailsOf(format, { text, seconds, hasWords: asksForWords(attempt) }, verbose), text, usage };
  return transcriptionReply(attempt, answer, JSON.stringify(answer), requestId);
}

interface Heard {
  text: string;
  seconds: number;
  hasWords: boolean;
}

/** One segment with everything that clients require of it, and the words in equal times; or one speaker. */
function detailsOf(format: string, { text, seconds, hasWords }: Heard, verbose: JsonObject): JsonObject {
  const times = { start: 0, end: seconds };
  if (format === 'diarized_json')
    return {
      task: 'transcribe',
      duration: seconds,
      segments: [{ type: 'transcript.text.segment', id: 'seg_0', ...times, speaker: 'A', text }],
    };
  if (format !== 'verbose_json') return {};
  const scores = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
  const words = text.split(' ');
  const startOf = (place: number) => (place * seconds) / words.length;
  return {
    ...verbose,
    segments: [{ id: 0, seek: 0, ...times, text, tokens: [], ...scores }],
    ...(hasWords && { words: words.map((word, at) => ({ word, start: startOf(at), end: startOf(at + 1) })) }),
  };
}

function asksForWords({ request }: Attempt): boolean {
  const fields = request.form?.fields ?? [];
  return fields.some(({ name, value }) => name.startsWith('timestamp_granularities') && value === 'word');
}

function captions(format: 'srt' | 'vtt', seconds: number, text: string): string {
  const time = (at: number) =>
    new Date(at * 1_000)
      .toISOString()
      .slice(11, 23)
      .replace('.', format === 'srt' ? ',' : '.');
  const lines = `${time(0)} --> ${time(seconds)}\n${text}\n\n`;
  return format === 'srt' ? `1\n${lines}` : `WEBVTT\n\n${lines}`;
}
