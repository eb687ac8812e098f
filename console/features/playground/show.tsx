// The playground: sends messages to one or two models with an API key and shows latency and cost.

import { Box, Flex, Menu, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useFilters } from '../../filters.ts';
import { useBaseUrl, useMe } from '../../me.tsx';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, PageHead } from '../../parts/page.tsx';
import { useModelNames } from '../keys/form.tsx';
import { defaultModel } from '../keys/values.ts';
import { toolCallsOf } from './answer.ts';
import { Composer, contentOf, draftOf, emptyDraft } from './composer.tsx';
import { type Conversation, useConversation } from './conversation.ts';
import { isFieldFailure, KeyPanel, type KeySource, useKeySource, usePlaygroundKey, useTabState } from './key.tsx';
import { bodyOf, defaultSettings, type PlaygroundSettings, readTools } from './request.ts';
import { callWithKey, type MessageRejected } from './send-message.ts';
import { SettingsPanel } from './settings.tsx';
import { CodeButton, failureAdvice, RejectionAlert, RunningAnswer, TurnView } from './turn.tsx';

const PROMPTS_MAX = 20;

export function Playground() {
  const { values, set } = useFilters();
  const [changed, setChanged] = useState(defaultSettings);
  const models = usePlayableModels();
  // The models are in the address, so that other pages can link here with one.
  const model = values['model'] ?? defaultModel(models);
  const keySource = useKeySource(model);
  const settings = { ...changed, model };
  const secondModel = values['compare'] ?? '';
  const change = ({ model: chosen, ...others }: Partial<PlaygroundSettings>) => {
    if (chosen !== undefined) set({ model: chosen });
    setChanged({ ...changed, ...others });
  };
  return (
    <>
      <PageHead
        title="Playground"
        text="Send messages to a model with an API key. Messages are billed like any other request."
      />
      <Flex direction={{ base: 'column-reverse', lg: 'row' }} gap="lg">
        <Box flex={1} miw={0}>
          <Talk settings={settings} secondModel={secondModel} keySource={keySource} />
        </Box>
        <Stack w={{ base: '100%', lg: 340 }} miw={0}>
          <KeyPanel source={keySource} />
          <SettingsPanel
            settings={settings}
            secondModel={secondModel}
            models={models}
            onChange={change}
            onCompare={(compare) => set({ compare })}
          />
        </Stack>
      </Flex>
    </>
  );
}

/** The models of the key in use; without a key, the models that the user can see. */
function usePlayableModels(): readonly string[] {
  const baseUrl = useBaseUrl();
  const me = useMe();
  const [key] = usePlaygroundKey();
  const visible = useModelNames(me.account?.groups ?? null);
  const ofKey = useQuery({
    queryKey: ['playground-models', key?.secret],
    queryFn: ({ signal }) =>
      callWithKey<{ data: { id: string }[] }>(baseUrl, '/v1/models?limit=1000', key?.secret ?? '', signal),
    enabled: key !== null,
  });
  return key !== null && ofKey.data != null ? ofKey.data.data.map(({ id }) => id) : visible;
}

interface TalkProps {
  settings: PlaygroundSettings;
  /** Empty: no comparison. */
  secondModel: string;
  keySource: KeySource;
}

function Talk({ settings, secondModel, keySource }: TalkProps) {
  const baseUrl = useBaseUrl();
  const first = useConversation(baseUrl, settings);
  const second = useConversation(baseUrl, { ...settings, model: secondModel });
  const talks = secondModel === '' ? [first] : [first, second];
  const [prompts, setPrompts] = useTabState<readonly string[]>('playground-prompts', []);
  const [draft, setDraft] = useState(emptyDraft);
  const end = useScrollToEnd(first);
  const isRunning = talks.some(({ running }) => running !== null);
  const hasTurns = talks.some(({ turns }) => turns.length > 0);
  const calls = talks.flatMap(openToolCallsOf);
  const content = contentOf(draft, calls);
  const isReady = keySource.isReady && settings.model !== '' && readTools(settings.tools).fault === null;
  const withSecret = async (act: (secret: string) => void) => {
    const secret = await keySource.getSecret();
    if (secret !== null) act(secret);
  };
  const send = () =>
    void withSecret((secret) => {
      for (const talk of talks) talk.send(contentOf(draft, openToolCallsOf(talk)), secret);
      const text = draft.text.trim();
      if (text !== '') setPrompts([text, ...prompts.filter((prompt) => prompt !== text)].slice(0, PROMPTS_MAX));
      setDraft(emptyDraft);
    });
  const regenerate = () => void withSecret((secret) => talks.forEach((talk) => void talk.again(secret)));
  const takeBack = () => setDraft(draftOf(talks.map((talk) => talk.takeBack()).find(({ length }) => length > 0) ?? []));
  return (
    <Stack gap="sm">
      {!hasTurns && !isRunning && <NoMessages isReady={keySource.isReady} />}
      <SimpleGrid cols={{ base: 1, md: talks.length }} spacing="sm">
        {talks.map((talk, place) => (
          <Turns
            // biome-ignore lint/suspicious/noArrayIndexKey: a conversation keeps its place
            key={place}
            talk={talk}
            onAgain={() => void withSecret(talk.again)}
            onTakeBack={takeBack}
          />
        ))}
      </SimpleGrid>
      {!isFieldFailure(keySource.failure) && <FailureNotice failure={keySource.failure} />}
      <div ref={end} />
      <Composer
        draft={draft}
        calls={calls}
        isRunning={isRunning}
        mayCompose={isReady && content.length > 0 && !keySource.isPending}
        onChange={setDraft}
        onSend={send}
        onStop={() => talks.forEach(({ stop }) => void stop())}
      >
        <CodeButton size="xs" body={bodyOf(settings, [...first.turns, { role: 'user', content }])} />
        <PromptHistory prompts={prompts} onChoose={(text) => setDraft({ ...draft, text })} />
        {hasTurns && !isRunning && (
          <Restart
            onAgain={talks.every(({ failure }) => failure === null) ? regenerate : null}
            isReady={isReady}
            onStartOver={() => talks.forEach(({ startOver }) => void startOver())}
          />
        )}
      </Composer>
    </Stack>
  );
}

function NoMessages({ isReady }: { isReady: boolean }) {
  const text = isReady
    ? 'Write a message below. The response streams in with its latency and cost.'
    : 'Choose an account or enter an existing API key to send messages.';
  return <EmptyState icon="play" title="No messages yet" text={text} />;
}

interface RestartProps {
  /** Null: not possible. */
  onAgain: (() => void) | null;
  isReady: boolean;
  onStartOver: () => void;
}

function Restart({ onAgain, isReady, onStartOver }: RestartProps) {
  return (
    <>
      {onAgain !== null && <ActionButton label="Regenerate" size="xs" onClick={onAgain} disabled={!isReady} />}
      <ActionButton label="Clear" size="xs" onClick={onStartOver} />
    </>
  );
}

/** The tool calls that wait for a result. */
function openToolCallsOf({ turns, running }: Conversation) {
  const last = turns.at(-1);
  return last?.role === 'assistant' && running === null ? toolCallsOf(last.answer) : [];
}

interface TurnsProps {
  talk: Conversation;
  onAgain: () => void;
  onTakeBack: () => void;
}

function Turns({ talk, onAgain, onTakeBack }: TurnsProps) {
  return (
    <Stack gap="sm" miw={0}>
      {talk.turns.map((turn, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a turn keeps its place
        <TurnView key={place} turn={turn} />
      ))}
      {talk.running !== null && <RunningAnswer answer={talk.running} />}
      {talk.failure !== null && <RejectedMessage failure={talk.failure} onAgain={onAgain} onTakeBack={onTakeBack} />}
    </Stack>
  );
}

function PromptHistory({ prompts, onChoose }: { prompts: readonly string[]; onChoose: (text: string) => void }) {
  if (prompts.length === 0) return null;
  return (
    <Menu position="top-start" width={360}>
      <Menu.Target>
        <ActionButton label="Previous prompts" size="xs" icon="history" />
      </Menu.Target>
      <Menu.Dropdown mah={320} style={{ overflowY: 'auto' }}>
        {prompts.map((prompt) => (
          <Menu.Item key={prompt} onClick={() => onChoose(prompt)}>
            <Text size="sm" lineClamp={2}>
              {prompt}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Scrolls with a growing response, unless the user has scrolled up. */
function useScrollToEnd({ running, turns }: Conversation) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each update of the response
  useEffect(() => {
    const fromBottomPx = document.documentElement.scrollHeight - window.scrollY - window.innerHeight;
    if (turns.length > 0 && fromBottomPx < 400) end.current?.scrollIntoView({ block: 'nearest' });
  }, [running, turns.length]);
  return end;
}

interface RejectedMessageProps extends Omit<TurnsProps, 'talk'> {
  failure: MessageRejected;
}

function RejectedMessage({ failure, onAgain, onTakeBack }: RejectedMessageProps) {
  const todo = failureAdvice[failure.code];
  return (
    <RejectionAlert title="Request failed" onAgain={onAgain} onTakeBack={onTakeBack}>
      <Text size="sm" fw={600}>
        {failure.status === 0 ? failure.code : `${failure.status} ${failure.code}`}
      </Text>
      {failure.code !== 'unreachable' && (
        <Text size="sm" className="wrap">
          {failure.message}
        </Text>
      )}
      {todo !== undefined && <Text size="sm">{todo}</Text>}
      {failure.retryAfterSeconds !== null && (
        <Text size="sm">{`Retry in ${failure.retryAfterSeconds} ${failure.retryAfterSeconds === 1 ? 'second' : 'seconds'}.`}</Text>
      )}
      {failure.code === 'insufficient_user_quota' && <ToBalance />}
    </RejectionAlert>
  );
}

function ToBalance() {
  const me = useMe();
  const [key] = usePlaygroundKey();
  const account = key?.account ?? null;
  const isOfOthers = me.account === null && account !== null;
  if (me.role !== 'owner' && !isOfOthers) return null;
  const to = isOfOthers ? `${pathOf.account(account)}/billing` : '/billing';
  return <ButtonLink label="View billing" size="xs" variant="default" mt="xs" to={to} />;
}
