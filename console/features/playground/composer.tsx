// The editor of the next message: text, images, and the results of tool calls.

import { Card, CloseButton, FileButton, Group, Image, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { ActionButton } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import type { Block } from './answer.ts';
import { Sounds } from './sound.tsx';

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const IMAGE_BYTES_MAX = 5 * 1024 * 1024;
const IMAGES_MAX = 10;

interface Draft {
  text: string;
  images: readonly Block[];
  sounds: readonly Block[];
  /** Results by the id of the tool call. */
  results: Readonly<Record<string, { text: string; isError: boolean }>>;
}

export const emptyDraft: Draft = { text: '', images: [], sounds: [], results: {} };

interface Call {
  id: string;
  name: string;
}

/** The blocks of a user turn. The Messages API requires a result for every open tool call. */
export function contentOf(draft: Draft, calls: readonly Call[]): Block[] {
  const results = calls.map(({ id }) => {
    const { text = '', isError = false } = draft.results[id] ?? {};
    return { type: 'tool_result', tool_use_id: id, content: text, ...(isError && { is_error: true }) };
  });
  const text = draft.text.trim() === '' ? [] : [{ type: 'text', text: draft.text }];
  return [...results, ...draft.images, ...draft.sounds, ...text];
}

/** Converts a user turn back to a draft. */
export function draftOf(content: readonly Block[]): Draft {
  const texts = content.filter(({ type }) => type === 'text').map(({ text }) => String(text));
  const results = content
    .filter(({ type }) => type === 'tool_result')
    .map((block) => [
      String(block['tool_use_id']),
      { text: String(block['content']), isError: block['is_error'] === true },
    ]);
  return {
    text: texts.join('\n'),
    images: content.filter(({ type }) => type === 'image'),
    sounds: content.filter(({ type }) => type === 'sound'),
    results: Object.fromEntries(results),
  };
}

interface ComposerProps {
  draft: Draft;
  calls: readonly Call[];
  isRunning: boolean;
  mayCompose: boolean;
  onChange: (draft: Draft) => void;
  onSend: () => void;
  onStop: () => void;
  /** Below the buttons. */
  note: React.ReactNode;
  /** More buttons. */
  children: React.ReactNode;
}

export function Composer(props: ComposerProps) {
  const { draft, calls, isRunning, mayCompose, onChange, onSend, onStop, note, children } = props;
  const sendByKeys = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (mayCompose && !isRunning) onSend();
  };
  return (
    <Card p="sm" onKeyDown={sendByKeys}>
      <Stack gap="xs">
        {calls.map((call) => (
          <ResultField key={call.id} call={call} draft={draft} onChange={onChange} />
        ))}
        <Textarea
          aria-label="Your message"
          placeholder={calls.length > 0 ? 'Optional text in addition to the tool result…' : 'Write a message…'}
          autosize
          minRows={2}
          maxRows={8}
          value={draft.text}
          onChange={({ currentTarget }) => onChange({ ...draft, text: currentTarget.value })}
        />
        <Images draft={draft} onChange={onChange} />
        <Sounds sounds={draft.sounds} onChange={(sounds) => onChange({ ...draft, sounds })} />
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <ImageButton draft={draft} onChange={onChange} />
            {children}
          </Group>
          <Group gap="sm">
            <Hint size="xs" visibleFrom="sm">
              Ctrl or ⌘ + Enter
            </Hint>
            {isRunning ? (
              // A growing response can move the button away, so pressing it is enough. The React key prevents reuse as the send button.
              <ActionButton
                label="Stop"
                key="stop"
                color="red"
                variant="light"
                onPointerDown={({ button }) => button === 0 && onStop()}
                onClick={onStop}
                icon="stop"
              />
            ) : (
              <ActionButton label="Send" isPrimary key="send" onClick={onSend} disabled={!mayCompose} icon="play" />
            )}
          </Group>
        </Group>
        {note}
      </Stack>
    </Card>
  );
}

type Changing = Pick<ComposerProps, 'draft' | 'onChange'>;

function ResultField({ call, draft, onChange }: Changing & { call: Call }) {
  const result = draft.results[call.id] ?? { text: '', isError: false };
  const set = (changes: Partial<typeof result>) =>
    onChange({ ...draft, results: { ...draft.results, [call.id]: { ...result, ...changes } } });
  return (
    <Stack gap={4}>
      <Textarea
        label={`Result of ${call.name}`}
        placeholder="The output of the tool."
        autosize
        minRows={2}
        maxRows={10}
        value={result.text}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
      />
      <Switch
        size="xs"
        label="Tool failed"
        checked={result.isError}
        onChange={({ currentTarget }) => set({ isError: currentTarget.checked })}
      />
    </Stack>
  );
}

function ImageButton({ draft, onChange }: Changing) {
  const [isRefused, setRefused] = useState(false);
  const add = async (files: File[]) => {
    const taken = files.filter(({ type, size }) => IMAGE_TYPES.includes(type) && size <= IMAGE_BYTES_MAX);
    const read = await Promise.all(taken.map(readImage));
    const images = [...draft.images, ...read];
    setRefused(taken.length < files.length || images.length > IMAGES_MAX);
    onChange({ ...draft, images: images.slice(0, IMAGES_MAX) });
  };
  return (
    <>
      <FileButton multiple accept={IMAGE_TYPES.join(',')} onChange={(files) => void add(files)}>
        {(button) => <ActionButton label="Add image" {...button} size="xs" icon="plus" />}
      </FileButton>
      {isRefused && (
        <Text size="xs" c="red" role="alert">
          Images must be PNG, JPEG, GIF or WebP, at most 5 MB each, and at most 10.
        </Text>
      )}
    </>
  );
}

function Images({ draft, onChange }: Changing) {
  if (draft.images.length === 0) return null;
  const remove = (place: number) => onChange({ ...draft, images: draft.images.filter((_, at) => at !== place) });
  return (
    <Group gap="xs">
      {draft.images.map(({ source }, place) => {
        const { media_type: type, data } = source as { media_type: string; data: string };
        return (
          <Group key={data} gap={0} align="flex-start" wrap="nowrap">
            <Image src={`data:${type};base64,${data}`} alt={`Image ${place + 1}`} h={56} w="auto" radius="sm" />
            <CloseButton size="xs" aria-label={`Remove image ${place + 1}`} onClick={() => remove(place)} />
          </Group>
        );
      })}
    </Group>
  );
}

function readImage(file: File): Promise<Block> {
  const { promise, resolve, reject } = Promise.withResolvers<Block>();
  const reader = new FileReader();
  reader.onload = () => {
    const data = String(reader.result).replace(/^[^,]*,/, '');
    resolve({ type: 'image', source: { type: 'base64', media_type: file.type, data } });
  };
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
  return promise;
}
