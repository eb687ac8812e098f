// Sound of the next message: chosen files or a recording, and whether the response is to be spoken.

import { CloseButton, FileButton, Group, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { loadPage } from '../../api.ts';
import { ActionButton } from '../../parts/link.tsx';
import type { Block } from './answer.ts';
import type { SoundUse } from './media-models.ts';
import type { Recording } from './record-sound.ts';

const SOUND_TYPES = ['audio/wav', 'audio/x-wav', 'audio/mpeg', 'audio/mp3'];
const SOUND_BYTES_MAX = 10 * 1024 * 1024;
const SOUNDS_MAX = 5;

export interface SoundProps {
  /** What the model can do with sound. */
  use: SoundUse;
  sounds: readonly Block[];
  onChange: (sounds: readonly Block[]) => void;
  isSpoken: boolean;
  onSpoken: (isSpoken: boolean) => void;
}

export function SoundButtons({ use, sounds, onChange, isSpoken, onSpoken }: SoundProps) {
  const [fault, setFault] = useState<string | null>(null);
  const add = async (files: readonly Blob[]) => {
    const taken = files.filter(({ type, size }) => SOUND_TYPES.includes(type) && size <= SOUND_BYTES_MAX);
    const added = [...sounds, ...(await Promise.all(taken.map(readSound)))];
    const isRefused = taken.length < files.length || added.length > SOUNDS_MAX;
    setFault(isRefused ? 'Sound must be WAV or MP3, at most 10 MB each, and at most 5 files.' : null);
    onChange(added.slice(0, SOUNDS_MAX));
  };
  return (
    <>
      {use.hears && (
        <FileButton multiple accept={SOUND_TYPES.join(',')} onChange={(files) => void add(files)}>
          {(button) => <ActionButton label="Add sound" {...button} size="xs" icon="plus" />}
        </FileButton>
      )}
      {use.hears && <RecordButton onRecorded={(sound) => void add([sound])} onFault={setFault} />}
      {use.speaks && (
        <Switch
          size="xs"
          label="Spoken response"
          checked={isSpoken}
          onChange={({ currentTarget }) => onSpoken(currentTarget.checked)}
        />
      )}
      {fault !== null && (
        <Text size="xs" c="red" role="alert">
          {fault}
        </Text>
      )}
    </>
  );
}

interface RecordButtonProps {
  onRecorded: (sound: Blob) => void;
  onFault: (fault: string | null) => void;
}

function RecordButton({ onRecorded, onFault }: RecordButtonProps) {
  const [recording, setRecording] = useState<Recording | null>(null);
  const begin = async () => {
    onFault(null);
    try {
      setRecording(await (await loadPage(() => import('./record-sound.ts'))).recordSound());
    } catch {
      onFault('The microphone cannot be used. Allow it for this page; without TLS, browsers refuse it.');
    }
  };
  const end = async (running: Recording) => {
    setRecording(null);
    onRecorded(await running.end());
  };
  return recording === null ? (
    <ActionButton label="Record" size="xs" icon="play" onClick={() => void begin()} />
  ) : (
    <ActionButton label="Stop recording" size="xs" color="red" icon="stop" onClick={() => void end(recording)} />
  );
}

/** The sounds of the next message, to play and to remove. */
export function Sounds({ sounds, onChange }: Pick<SoundProps, 'sounds' | 'onChange'>) {
  if (sounds.length === 0) return null;
  const remove = (place: number) => onChange(sounds.filter((_, at) => at !== place));
  return (
    <Group gap="xs">
      {sounds.map((block, place) => (
        <Group key={dataUrlOf(block)} gap={4} wrap="nowrap">
          {/* biome-ignore lint/a11y/useMediaCaption: the user has just chosen or recorded it */}
          <audio controls src={dataUrlOf(block)} aria-label={`Sound ${place + 1}`} style={{ height: 36 }} />
          <CloseButton size="xs" aria-label={`Remove sound ${place + 1}`} onClick={() => remove(place)} />
        </Group>
      ))}
    </Group>
  );
}

export function dataUrlOf({ source }: Block): string {
  const { media_type: type, data } = (source ?? {}) as { media_type?: string; data?: string };
  return `data:${type};base64,${data}`;
}

function readSound(sound: Blob): Promise<Block> {
  const { promise, resolve, reject } = Promise.withResolvers<Block>();
  const reader = new FileReader();
  reader.onload = () => {
    const data = String(reader.result).replace(/^[^,]*,/, '');
    resolve({ type: 'sound', source: { type: 'base64', media_type: sound.type, data } });
  };
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(sound);
  return promise;
}
