// The playground: sends messages to one or two models with an API key and shows latency and cost.

import { Box, Group, Menu, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { countOf } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { useBaseUrl, useMe } from '../../me.tsx';
import { type FoundBy, foundAmong, foundModels } from '../../parts/found.ts';
import { Drawer } from '../../parts/later.tsx';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, PageHead } from '../../parts/page.tsx';
import { useDefaultModel } from '../keys/default-model.ts';
import { useModelNames } from '../keys/form.tsx';
import { toolCallsOf } from './answer.ts';
import { Composer, contentOf, draftOf, emptyDraft } from './composer.tsx';
import { type Conversation, useConversation } from './conversation.ts';
import { KeyLine, KeyNeeded, KeyPanel } from './key.tsx';
import { type KeySource, useKeySource, usePlaygroundKey, useTabState } from './key-source.ts';
import { type MediaUse, useMediaModels, useSoundOf } from './media-models.ts';
import { ModelSelect } from './model-select.tsx';
import { useModelsOfKey } from './models-of-key.ts';
import { bodyOf, defaultSettings, hasSound, type PlaygroundSettings, readTools } from './request.ts';
import type { MessageRejected } from './send-message.ts';
import { Parameters } from './settings.tsx';
import { SoundButtons } from './sound.tsx';
import { CodeButton, failureAdvice, RejectionAlert, RunningAnswer, TurnView } from './turn.tsx';

const PROMPTS_MAX = 20;

export function Playground() {
  const { values, set } = useFilters();
  const [changed, setChanged] = useState(defaultSettings);
  const [isOpen, drawer] = useDisclosure(false);
  const media = useMediaModels();
  const { names: models, found } = usePlayableModels(media);
  // The models are in the address, so that other pages can link here with one.
  const usual = useDefaultModel(models);
  const model = values['model'] ?? usual;
  const keySource = useKeySource(model);
  const settings = { ...changed, model };
  return (
    <>
      <PageHead
        title="Playground"
        text="Requests from here are billed as usual."
        actions={<ActionButton label="Settings" icon="sliders" onClick={drawer.open} />}
      />
      <Drawer opened={isOpen} onClose={drawer.close} position="right" title="Playground settings">
        <Stack gap="lg">
          <Parameters settings={settings} onChange={(changes) => setChanged({ ...changed, ...changes })} />
          <KeyPanel source={keySource} />
        </Stack>
      </Drawer>
      <Talk
        settings={settings}
        secondModel={values['compare'] ?? ''}
        models={models}
        found={found}
        media={media}
        onModel={(chosen) => set({ model: chosen })}
        onSecondModel={(chosen) => set({ compare: chosen })}
        // The models of the key that the first message creates may have another default.
        onSend={() => set({ model })}
        keySource={keySource}
      />
    </>
  );
}

/** Each kind is found in its own way, so that a field of one is replaced for the other. */
type PlayableModels = FoundBy & { kind: 'of the key' | 'visible' };

/** The models of the key in use, and those that draw or speak, which it does not list; without a key, the models that the user can see. */
function usePlayableModels(media: ReadonlyMap<string, MediaUse>): {
  names: readonly string[];
  found: PlayableModels;
} {
  const { account } = useMe();
  const [key] = usePlaygroundKey();
  const visible = useModelNames(account?.groups ?? null);
  const ofKey = useModelsOfKey(key?.secret ?? null);
  if (ofKey === null) return { names: visible, found: { ...foundModels(account?.groups ?? null), kind: 'visible' } };
  const names = [...ofKey, ...visible.filter((name) => media.has(name))];
  return { names, found: { ...foundAmong(names), kind: 'of the key' } };
}

interface TalkProps {
  settings: PlaygroundSettings;
  /** Empty: no comparison. */
  secondModel: string;
  models: readonly string[];
  found: PlayableModels;
  media: ReadonlyMap<string, MediaUse>;
  onModel: (name: string) => void;
  onSecondModel: (name: string | null) => void;
  onSend: () => void;
  keySource: KeySource;
}

function Talk({ settings, secondModel, models, found, media, onModel, onSecondModel, onSend, keySource }: TalkProps) {
  const { talks, speech } = useTalks(settings, secondModel, media);
  const [prompts, setPrompts] = useTabState<readonly string[]>('playground-prompts', []);
  const [draft, setDraft] = useState(emptyDraft);
  useScrollToEnd(talks);
  useFreshKey(talks);
  const isRunning = talks.some(({ running }) => running !== null);
  const hasTurns = talks.some(({ turns }) => turns.length > 0);
  const calls = talks.flatMap(openToolCallsOf);
  const content = contentOf(draft, calls);
  const toolFault = readTools(settings.tools).fault;
  const isReady = keySource.isReady && settings.model !== '' && toolFault === null;
  const sent = [...talks[0].turns, { role: 'user', content } as const];
  const withSecret = async (act: (secret: string) => void) => {
    const secret = await keySource.getSecret();
    if (secret !== null) act(secret);
  };
  const send = () => {
    onSend();
    void withSecret((secret) => {
      for (const talk of talks) talk.send(contentOf(draft, openToolCallsOf(talk)), secret);
      const text = draft.text.trim();
      if (text !== '') setPrompts([text, ...prompts.filter((prompt) => prompt !== text)].slice(0, PROMPTS_MAX));
      setDraft(emptyDraft);
    });
  };
  const regenerate = () => void withSecret((secret) => talks.forEach((talk) => void talk.again(secret)));
  const takeBack = () => setDraft(draftOf(talks.map((talk) => talk.takeBack()).find(({ length }) => length > 0) ?? []));
  return (
    <Box className="playground">
      <Columns
        talks={talks}
        names={[settings.model, secondModel]}
        models={models}
        found={found}
        onModel={onModel}
        onSecondModel={onSecondModel}
        onAgain={(talk) => void withSecret(talk.again)}
        onTakeBack={takeBack}
      />
      {!hasTurns && <NoMessages keySource={keySource} />}
      {hasTurns && !isRunning && <TalkActions talks={talks} isReady={isReady} onRegenerate={regenerate} />}
      <Box className="playground-composer">
        <Stack gap="xs">
          <FailureNotice failure={keySource.failure} />
          {toolFault !== null && <FailureNotice title="Tools in the settings are invalid" failure={toolFault} />}
          <Composer
            draft={draft}
            calls={calls}
            isRunning={isRunning}
            mayCompose={isReady && content.length > 0 && !keySource.isPending}
            onChange={setDraft}
            onSend={send}
            onStop={() => talks.forEach(({ stop }) => void stop())}
            note={<KeyLine source={keySource} />}
          >
            <PromptHistory prompts={prompts} onChoose={(text) => setDraft({ ...draft, text })} />
            <SoundButtons {...speech} sounds={draft.sounds} onChange={(sounds) => setDraft({ ...draft, sounds })} />
            {!media.has(settings.model) && !speech.isSpoken && !sent.some(hasSound) && (
              <CodeButton size="xs" visibleFrom="xs" body={bodyOf(settings, sent)} />
            )}
          </Composer>
        </Stack>
      </Box>
    </Box>
  );
}

/** A conversation with each model, and what the first can do with sound. */
function useTalks(settings: PlaygroundSettings, secondModel: string, media: TalkProps['media']) {
  const baseUrl = useBaseUrl();
  const [asksSpoken, setSpoken] = useState(false);
  const sound = useSoundOf(settings.model);
  const isSpoken = asksSpoken && sound.speaks;
  const secondSound = useSoundOf(secondModel);
  const speaksToo = asksSpoken && secondSound.speaks;
  const first = useConversation(baseUrl, settings, media.get(settings.model) ?? null, isSpoken);
  const ofSecond = { ...settings, model: secondModel };
  const second = useConversation(baseUrl, ofSecond, media.get(secondModel) ?? null, speaksToo);
  const talks = secondModel === '' ? ([first] as const) : ([first, second] as const);
  return { talks, speech: { use: sound, isSpoken, onSpoken: setSpoken } };
}

interface TalkActionsProps {
  talks: readonly Conversation[];
  isReady: boolean;
  onRegenerate: () => void;
}

function TalkActions({ talks, isReady, onRegenerate }: TalkActionsProps) {
  return (
    <Group gap="xs">
      {talks.every(({ failure }) => failure === null) && (
        <ActionButton label="Regenerate" size="xs" icon="refresh" onClick={onRegenerate} disabled={!isReady} />
      )}
      <ActionButton label="Clear" size="xs" onClick={() => talks.forEach(({ startOver }) => void startOver())} />
    </Group>
  );
}

interface ColumnsProps {
  talks: readonly Conversation[];
  /** The models of both columns. */
  names: readonly [string, string];
  models: readonly string[];
  found: PlayableModels;
  onModel: (name: string) => void;
  onSecondModel: (name: string | null) => void;
  onAgain: (talk: Conversation) => void;
  onTakeBack: () => void;
}

/** Side by side; on narrow screens one at a time. */
function Columns({ talks, names, models, found, onModel, onSecondModel, onAgain, onTakeBack }: ColumnsProps) {
  const [shownAt, setShownAt] = useState('0');
  const isCompared = talks.length > 1;
  return (
    <>
      {isCompared && (
        <SegmentedControl
          hiddenFrom="sm"
          aria-label="Model shown"
          fullWidth
          value={shownAt}
          onChange={setShownAt}
          data={names.map((name, at) => ({ value: String(at), label: name }))}
        />
      )}
      <SimpleGrid cols={{ base: 1, sm: talks.length }} spacing="md">
        {talks.map((talk, at) => (
          <Stack
            // biome-ignore lint/suspicious/noArrayIndexKey: a column keeps its place
            key={at}
            gap="sm"
            miw={0}
            component="section"
            aria-label={`Conversation with ${names[at]}`}
            {...(isCompared && String(at) !== shownAt && { visibleFrom: 'sm' })}
          >
            <Group gap="xs" wrap="nowrap">
              <ModelSelect
                key={found.kind}
                label={at === 0 ? 'Model' : 'Second model'}
                found={found}
                value={names[at] ?? ''}
                onChange={at === 0 ? onModel : onSecondModel}
              />
              {at === 0 && !isCompared && models.length > 1 && (
                <ActionButton
                  label="Compare"
                  icon="plus"
                  flex="none"
                  onClick={() => onSecondModel(models.find((name) => name !== names[0]) ?? null)}
                />
              )}
              {at === 1 && (
                <ActionButton
                  label="Remove"
                  aria-label="Remove the second model"
                  flex="none"
                  onClick={() => {
                    setShownAt('0');
                    onSecondModel(null);
                  }}
                />
              )}
            </Group>
            <Turns talk={talk} onAgain={() => onAgain(talk)} onTakeBack={onTakeBack} />
          </Stack>
        ))}
      </SimpleGrid>
    </>
  );
}

function NoMessages({ keySource }: { keySource: KeySource }) {
  if (!keySource.isReady) return <KeyNeeded source={keySource} />;
  return (
    <EmptyState
      icon="play"
      title="No messages yet"
      text="Write a message below. The response streams in with its latency and cost."
    />
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

/** Scrolls with a growing response, unless the user has scrolled up. The composer below it stays in view. */
function useScrollToEnd(talks: readonly Conversation[]): void {
  const turnCount = talks.reduce((sum, { turns }) => sum + turns.length, 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each update of a response
  useEffect(() => {
    const { scrollHeight } = document.documentElement;
    const fromBottomPx = scrollHeight - window.scrollY - window.innerHeight;
    if (turnCount > 0 && fromBottomPx < 400) window.scrollTo({ top: scrollHeight });
  }, [talks[0]?.running, talks[1]?.running, turnCount]);
}

/** A key of the playground whose secret no longer works, for example after it was used on another tab, is replaced. */
function useFreshKey(talks: readonly Conversation[]): void {
  const [key, setKey] = usePlaygroundKey();
  const isRefused = talks.some(({ failure }) => failure !== null && REPLACED_CODES.includes(failure.code));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each refusal
  useEffect(() => {
    if (isRefused && key?.extendAtMs != null) setKey(null);
  }, [isRefused]);
}

const REPLACED_CODES = ['key_invalid', 'key_disabled', 'key_expired'];

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
        <Text size="sm">{`Retry in ${countOf(failure.retryAfterSeconds, 'second')}.`}</Text>
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
