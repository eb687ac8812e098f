// Records the microphone as a WAV file, which models take: browsers record in other formats. Loads with the first recording.

const SAMPLE_RATE = 16_000;
const HEAD_BYTES = 44;

export interface Recording {
  /** Stops, and resolves to the file. */
  end: () => Promise<Blob>;
}

/** Rejects if the user or the browser does not allow it. */
export async function recordSound(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  recorder.onstop = () => resolve();
  recorder.start();
  return {
    async end() {
      recorder.stop();
      await stopped;
      for (const track of stream.getTracks()) track.stop();
      return wavOf(await samplesOf(new Blob(pieces)));
    },
  };
}

/** The sound in one channel. */
async function samplesOf(recorded: Blob): Promise<Float32Array> {
  const context = new OfflineAudioContext(1, 1, SAMPLE_RATE); // decodes into its own rate
  const { numberOfChannels, length, ...sound } = await decode(context, recorded);
  const mixed = new Float32Array(length);
  for (let channel = 0; channel < numberOfChannels; channel++)
    for (const [at, sample] of sound.channel(channel).entries())
      mixed[at] = (mixed[at] ?? 0) + sample / numberOfChannels;
  return mixed;
}

async function decode(context: OfflineAudioContext, recorded: Blob) {
  const sound = await context.decodeAudioData(await recorded.arrayBuffer());
  const { numberOfChannels, length } = sound;
  return { numberOfChannels, length, channel: (at: number) => sound.getChannelData(at) };
}

function wavOf(samples: Float32Array): Blob {
  const file = new DataView(new ArrayBuffer(HEAD_BYTES + 2 * samples.length));
  const write = (at: number, text: string) => {
    for (const [place, character] of [...text].entries()) file.setUint8(at + place, character.charCodeAt(0));
  };
  write(0, 'RIFF');
  file.setUint32(4, file.byteLength - 8, true);
  write(8, 'WAVEfmt ');
  file.setUint32(16, 16, true);
  file.setUint16(20, 1, true);
  file.setUint16(22, 1, true);
  file.setUint32(24, SAMPLE_RATE, true);
  file.setUint32(28, 2 * SAMPLE_RATE, true);
  file.setUint16(32, 2, true);
  file.setUint16(34, 16, true);
  write(36, 'data');
  file.setUint32(40, 2 * samples.length, true);
  for (const [at, sample] of samples.entries())
    file.setInt16(HEAD_BYTES + 2 * at, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true);
  return new Blob([file.buffer], { type: 'audio/wav' });
}
