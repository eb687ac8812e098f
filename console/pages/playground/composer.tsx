// Where the next turn is written: text, pictures, the results of the tools that were called.

import { Button, Card, CloseButton, FileButton, Group, Image, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import type { Block } from '../../message-blocks.ts';
import { Icon } from '../../parts/icon.tsx';
import { words } from '../../words.ts';

const its = words.playground;
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const PICTURE_BYTES_MAX = 5 * 1024 * 1024;
const PICTURES_MAX = 10;

export interface Draft {
  text: string;
  pictures: readonly Block[];
  /** By the id of the call. */
  results: Readonly<Record<string, { text: string; isError: boolean }>>;
}

export const noDraft: Draft = { text: '', pictures: [], results: {} };

interface Call {
  id: string;
  name: string;
}

/** The blocks of a turn: every call that waits has its result, as the Messages API wants it. */
export function contentOf(draft: Draft, calls: readonly Call[]): Block[] {
  const results = calls.map(({ id }) => {
    const { text = '', isError = false } = draft.results[id] ?? {};
    return { type: 'tool_result', tool_use_id: id, content: text, ...(isError && { is_error: true }) };
  });
  const text = draft.text.trim() === '' ? [] : [{ type: 'text', text: draft.text }];
  return [...results, ...draft.pictures, ...text];
}

/** What was taken back, to be written anew. */
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
    pictures: content.filter(({ type }) => type === 'image'),
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
  /** Further buttons. */
  children: React.ReactNode;
}

export function Composer({ draft, calls, isRunning, mayCompose, onChange, onSend, onStop, children }: ComposerProps) {
  const sendByKeys = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (mayCompose && !isRunning) onSend();
  };
  return (
    <Card withBorder p="sm" onKeyDown={sendByKeys}>
      <Stack gap="sm">
        {calls.map((call) => (
          <ResultField key={call.id} call={call} draft={draft} onChange={onChange} />
        ))}
        <Textarea
          aria-label={its.write}
          placeholder={calls.length > 0 ? its.results : its.placeholder}
          autosize
          minRows={3}
          maxRows={16}
          value={draft.text}
          onChange={({ currentTarget }) => onChange({ ...draft, text: currentTarget.value })}
        />
        <Pictures draft={draft} onChange={onChange} />
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <PictureButton draft={draft} onChange={onChange} />
            {children}
          </Group>
          <Group gap="sm">
            <Text size="xs" c="dimmed" visibleFrom="sm">
              {its.sendHint}
            </Text>
            {isRunning ? (
              // An answer that grows moves it away: to press it is enough, wherever it is let go. By its key it never becomes the other.
              <Button
                key="stop"
                color="red"
                variant="light"
                onPointerDown={({ button }) => button === 0 && onStop()}
                onClick={onStop}
                leftSection={<Icon name="stop" />}
              >
                {its.stop}
              </Button>
            ) : (
              <Button key="send" onClick={onSend} disabled={!mayCompose} leftSection={<Icon name="play" />}>
                {its.send}
              </Button>
            )}
          </Group>
        </Group>
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
        label={its.result(call.name)}
        placeholder={its.resultHint}
        autosize
        minRows={2}
        maxRows={10}
        value={result.text}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
      />
      <Switch
        size="xs"
        label={its.isError}
        checked={result.isError}
        onChange={({ currentTarget }) => set({ isError: currentTarget.checked })}
      />
    </Stack>
  );
}

function PictureButton({ draft, onChange }: Changing) {
  const [isRefused, setRefused] = useState(false);
  const add = async (files: File[]) => {
    const taken = files.filter(({ type, size }) => PICTURE_TYPES.includes(type) && size <= PICTURE_BYTES_MAX);
    const read = await Promise.all(taken.map(pictureOf));
    const pictures = [...draft.pictures, ...read];
    setRefused(taken.length < files.length || pictures.length > PICTURES_MAX);
    onChange({ ...draft, pictures: pictures.slice(0, PICTURES_MAX) });
  };
  return (
    <>
      <FileButton multiple accept={PICTURE_TYPES.join(',')} onChange={(files) => void add(files)}>
        {(button) => (
          <Button {...button} variant="default" size="xs" leftSection={<Icon name="plus" sizePx={16} />}>
            {its.image}
          </Button>
        )}
      </FileButton>
      {isRefused && (
        <Text size="xs" c="red" role="alert">
          {its.imageFault}
        </Text>
      )}
    </>
  );
}

function Pictures({ draft, onChange }: Changing) {
  if (draft.pictures.length === 0) return null;
  const remove = (place: number) => onChange({ ...draft, pictures: draft.pictures.filter((_, at) => at !== place) });
  return (
    <Group gap="xs">
      {draft.pictures.map(({ source }, place) => {
        const { media_type: type, data } = source as { media_type: string; data: string };
        return (
          <Group key={data} gap={0} align="flex-start" wrap="nowrap">
            <Image src={`data:${type};base64,${data}`} alt={its.imageOf(place + 1)} h={56} w="auto" radius="sm" />
            <CloseButton size="xs" aria-label={its.removeImage(place + 1)} onClick={() => remove(place)} />
          </Group>
        );
      })}
    </Group>
  );
}

function pictureOf(file: File): Promise<Block> {
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
