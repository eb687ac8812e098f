// A place to try a model in: what an application would send with a key, what it would get, and what that costs.

import { Box, Button, Flex, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useBaseUrl } from '../base-url.ts';
import { useFilters } from '../filters.ts';
import { firstToTry } from '../key-terms.ts';
import { useMe } from '../me.tsx';
import { callsOf } from '../message-blocks.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlaygroundKey } from '../playground-key.ts';
import { bodyOf, type PlaygroundSettings, readTools, usualSettings } from '../playground-request.ts';
import { askWithKey, type MessageRefused } from '../send-message.ts';
import { words } from '../words.ts';
import { useModelNames } from './key/key-fields.tsx';
import { CodeButton } from './playground/code-button.tsx';
import { Composer, contentOf, draftOf, noDraft } from './playground/composer.tsx';
import { KeyPanel } from './playground/key-panel.tsx';
import { SettingsPanel } from './playground/settings-panel.tsx';
import { Refusal, RunningAnswer, TurnView } from './playground/turn-view.tsx';
import { type Conversation, useConversation } from './playground/use-conversation.ts';

const its = words.playground;

export function Playground() {
  const { values, set } = useFilters();
  const [changed, setChanged] = useState(usualSettings);
  const models = usePlayableModels();
  // The model stands in the address, so that other pages can lead here with one.
  const model = values['model'] ?? firstToTry(models);
  const settings = { ...changed, model };
  const change = ({ model: chosen, ...others }: Partial<PlaygroundSettings>) => {
    if (chosen !== undefined) set({ model: chosen });
    setChanged({ ...changed, ...others });
  };
  return (
    <>
      <PageHead title={its.title} text={its.text} />
      <Flex direction={{ base: 'column-reverse', lg: 'row' }} gap="lg">
        <Box flex={1} miw={0}>
          <Talk settings={settings} />
        </Box>
        <Stack w={{ base: '100%', lg: 360 }} miw={0}>
          <KeyPanel />
          <SettingsPanel settings={settings} models={models} onChange={change} />
        </Stack>
      </Flex>
    </>
  );
}

/** What the key in use may ask; without one, what whoever looks can see. */
function usePlayableModels(): readonly string[] {
  const baseUrl = useBaseUrl();
  const me = useMe();
  const [key] = usePlaygroundKey();
  const sold = useModelNames(me.account?.groups ?? null);
  const ofKey = useQuery({
    queryKey: ['playground-models', key?.secret],
    queryFn: ({ signal }) =>
      askWithKey<{ data: { id: string }[] }>(baseUrl, '/v1/models?limit=1000', key?.secret ?? '', signal),
    enabled: key !== null,
  });
  return key !== null && ofKey.data != null ? ofKey.data.data.map(({ id }) => id) : sold;
}

function Talk({ settings }: { settings: PlaygroundSettings }) {
  const [key] = usePlaygroundKey();
  const talk = useConversation(useBaseUrl(), key?.secret ?? null, settings);
  const [draft, setDraft] = useState(noDraft);
  const end = useFollowedEnd(talk);
  const last = talk.turns.at(-1);
  const calls = last?.role === 'assistant' && talk.running === null ? callsOf(last.answer) : [];
  const content = contentOf(draft, calls);
  const isReady = key !== null && settings.model !== '' && readTools(settings.tools).fault === null;
  const send = () => {
    talk.send(content);
    setDraft(noDraft);
  };
  return (
    <Stack gap="sm">
      {talk.turns.length === 0 && (
        <EmptyState icon="play" title={its.emptyTitle} text={key === null ? its.emptyNoKey : its.emptyText} />
      )}
      {talk.turns.map((turn, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a turn keeps its place
        <TurnView key={place} turn={turn} />
      ))}
      {talk.running !== null && <RunningAnswer answer={talk.running} />}
      {talk.failure !== null && (
        <Refused failure={talk.failure} talk={talk} onTakeBack={() => setDraft(draftOf(talk.takeBack()))} />
      )}
      <div ref={end} />
      <Composer
        draft={draft}
        calls={calls}
        isRunning={talk.running !== null}
        mayCompose={isReady && content.length > 0}
        onChange={setDraft}
        onSend={send}
        onStop={talk.stop}
      >
        <CodeButton size="xs" body={bodyOf(settings, [...talk.turns, { role: 'user', content }])} />
        {talk.turns.length > 0 && talk.running === null && <Restart talk={talk} isReady={isReady} />}
      </Composer>
    </Stack>
  );
}

function Restart({ talk, isReady }: { talk: Conversation; isReady: boolean }) {
  return (
    <>
      {talk.failure === null && (
        <Button size="xs" variant="default" onClick={talk.again} disabled={!isReady}>
          {its.again}
        </Button>
      )}
      <Button size="xs" variant="default" onClick={talk.startOver}>
        {its.startOver}
      </Button>
    </>
  );
}

/** Keeps the end of a growing answer in sight, but not of whoever has gone up to read. */
function useFollowedEnd({ running, turns }: Conversation) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each piece that came
  useEffect(() => {
    const fromBottomPx = document.documentElement.scrollHeight - window.scrollY - window.innerHeight;
    if (turns.length > 0 && fromBottomPx < 400) end.current?.scrollIntoView({ block: 'nearest' });
  }, [running, turns.length]);
  return end;
}

interface RefusedProps {
  failure: MessageRefused;
  talk: Conversation;
  onTakeBack: () => void;
}

function Refused({ failure, talk, onTakeBack }: RefusedProps) {
  const todo = its.todo[failure.code];
  return (
    <Refusal title={its.refused} onAgain={talk.again} onTakeBack={onTakeBack}>
      <Text size="sm" fw={600}>
        {its.failed(failure.status, failure.code)}
      </Text>
      {failure.code !== 'unreachable' && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {failure.message}
        </Text>
      )}
      {todo !== undefined && <Text size="sm">{todo}</Text>}
      {failure.retryAfterSeconds !== null && <Text size="sm">{its.retryAfter(failure.retryAfterSeconds)}</Text>}
      {failure.code === 'insufficient_user_quota' && <ToBalance />}
    </Refusal>
  );
}

function ToBalance() {
  const me = useMe();
  const [key] = usePlaygroundKey();
  const look = { size: 'xs', variant: 'default', mt: 'xs' } as const;
  if (me.role === 'owner')
    return (
      <Button {...look} renderRoot={(props) => <Link {...props} to="/balance" />}>
        {its.toBalance}
      </Button>
    );
  const account = key?.account ?? null;
  if (me.account !== null || account === null) return null;
  return (
    <Button
      {...look}
      renderRoot={(props) => <Link {...props} to="/accounts/$accountId/balance" params={{ accountId: account }} />}
    >
      {its.toBalance}
    </Button>
  );
}
