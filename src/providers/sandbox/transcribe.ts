// Transcripts of the sandbox: a sentence about the file, the same for the same file, in every format.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../wire/wire.ts';
import { refuseField } from '../lost-fields.ts';
import type { Attempt, OtherReply } from '../provider.ts';
import { captionsReply, readTranscriptionRequest, transcriptionReply } from '../transcription.ts';

export async function transcribe(attempt: Attempt, requestId: string): Promise<OtherReply> {
  const { format, isStream, task } = readTranscriptionRequest(attempt);
  if (format === 'diarized_json') refuseField('response_format', 'the sandbox tells no speakers apart');
  const { seconds = 0 } = attempt.request.units?.counts ?? {};
  const hash = createHash('sha256');
  for (const file of attempt.request.form?.files ?? []) for await (const piece of file.read()) hash.update(piece);
  const digest = hash.digest('hex').slice(0, 8);
  const text = `The sandbox heard ${seconds} ${seconds === 1 ? 'second' : 'seconds'} of sound with the checksum ${digest}.`;
  if (!isStream && (format === 'srt' || format === 'vtt'))
    return captionsReply(attempt, captions(format, seconds, text), requestId);
  const usage = { type: 'duration', seconds };
  const segment = { id: 0, seek: 0, start: 0, end: seconds, text, tokens: [], temperature: 0 };
  const verbose = {
    task: task === 'translations' ? 'translate' : 'transcribe',
    language: 'english',
    duration: seconds,
  };
  const answer: JsonObject =
    format === 'verbose_json' ? { ...verbose, text, segments: [segment], usage } : { text, usage };
  return transcriptionReply(attempt, answer, JSON.stringify(answer), requestId);
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
