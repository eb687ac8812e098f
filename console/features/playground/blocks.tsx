// The content blocks of a turn. All content is untrusted: responses are shown as Markdown, all other text as text.

import { Badge, Box, Code, Group, Image, Stack, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { loadPage } from '../../api.ts';
import { Hint } from '../../parts/page.tsx';
import type { Answer, Block } from './answer.ts';
import { dataUrlOf } from './sound.tsx';

/** Loads with the first response. */
const LaterMarkdown = lazy(async () => ({
  default: (await loadPage(() => import('../../parts/markdown.tsx'))).MarkdownText,
}));

export function AnswerBlocks({ answer, isRunning }: { answer: Answer; isRunning: boolean }) {
  const last = answer.blocks.length - 1;
  return (
    <Stack gap="sm">
      {answer.blocks.map((block, place) => (
        <BlockView
          // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
          key={place}
          block={block}
          inputText={answer.inputTexts[place] ?? null}
          isLast={isRunning && place === last}
          isMarkdown
        />
      ))}
    </Stack>
  );
}

interface BlockViewProps {
  block: Block;
  /** The partial input of a tool call. */
  inputText: string | null;
  /** The block may still grow. */
  isLast: boolean;
  isMarkdown?: boolean;
}

export function BlockView({ block, inputText, isLast, isMarkdown = false }: BlockViewProps) {
  switch (block.type) {
    case 'text': {
      const text = String(block['text'] ?? '');
      return isMarkdown ? <MarkdownText text={text} /> : <WrittenText text={text} />;
    }
    case 'thinking':
      return (
        <Fold label={isLast ? 'Thinking…' : 'Thinking'} isOpen={isLast}>
          <WrittenText text={String(block['thinking'] ?? '')} isDimmed />
        </Fold>
      );
    case 'redacted_thinking':
      return <Hint>Redacted thinking</Hint>;
    case 'tool_use':
    case 'server_tool_use':
      return <CallView name={String(block['name'] ?? '')} text={inputText ?? jsonOf(block['input'])} />;
    case 'tool_result':
      return (
        <Fold label="Tool result" isOpen>
          <WrittenText text={textOfResult(block['content'])} />
        </Fold>
      );
    case 'image':
      return <InlineImage block={block} isLarge={isMarkdown} />;
    case 'sound':
      return <Sound block={block} label={isMarkdown ? 'Speech' : 'Sound'} />;
    default:
      return (
        <Fold label={block.type} isOpen={false}>
          <Code block>{jsonOf(block)}</Code>
        </Fold>
      );
  }
}

function WrittenText({ text, isDimmed = false }: { text: string; isDimmed?: boolean }) {
  return (
    <Text size="sm" component="div" className="written" {...(isDimmed && { c: 'dimmed' })}>
      {text}
    </Text>
  );
}

function Fold({ label, isOpen, children }: { label: string; isOpen: boolean; children: React.ReactNode }) {
  return (
    <Box component="details" open={isOpen}>
      <Text component="summary" size="sm" fw={600} style={{ cursor: 'pointer' }}>
        {label}
      </Text>
      <Box mt={4} pl="sm" style={{ borderLeft: '2px solid var(--mantine-color-default-border)' }}>
        {children}
      </Box>
    </Box>
  );
}

function CallView({ name, text }: { name: string; text: string }) {
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge miw={0}>{`Tool call: ${name}`}</Badge>
      </Group>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
    </Stack>
  );
}

/** Shows only images that the user added, or a model drew, as data URLs. */
function InlineImage({ block, isLarge }: { block: Block; isLarge: boolean }) {
  return (
    <Image
      src={dataUrlOf(block)}
      alt="Image 1"
      mah={isLarge ? 512 : 160}
      w="auto"
      maw="100%"
      fit="contain"
      radius="sm"
      style={{ alignSelf: 'flex-start' }}
    />
  );
}

function Sound({ block, label }: { block: Block; label: string }) {
  return (
    // biome-ignore lint/a11y/useMediaCaption: its text is the message above
    <audio controls src={dataUrlOf(block)} aria-label={label} style={{ width: '100%' }} />
  );
}

function textOfResult(content: unknown): string {
  return typeof content === 'string' ? content : jsonOf(content);
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? '';
}

function MarkdownText({ text }: { text: string }) {
  return (
    <Suspense fallback={<WrittenText text={text} />}>
      <LaterMarkdown text={text} />
    </Suspense>
  );
}
