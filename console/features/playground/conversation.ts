// The turns of a conversation and the streaming response: send, stop, retry, edit. In memory only.

import { useEffect, useRef, useState } from 'react';
import { loadPage } from '../../api.ts';
import { type Answer, type Block, emptyAnswer } from './answer.ts';
import type { MediaUse } from './media-models.ts';
import { bodyOf, hasSound, type PlaygroundSettings, type Turn } from './request.ts';
import { MessageRejected, type Sent, sendMessage } from './send-message.ts';

export interface Conversation {
  turns: readonly Turn[];
  /** The response received so far; null if no request is running. */
  running: Answer | null;
  failure: MessageRejected | null;
  /** Sends a user turn with the secret of an API key. Ignores empty content. */
  send: (content: readonly Block[], secret: string) => void;
  /** Requests another response to the last user turn. */
  again: (secret: string) => void;
  stop: () => void;
  /** Removes the last user turn and returns its content. */
  takeBack: () => readonly Block[];
  startOver: () => void;
}

/** `use`: of a model that does not answer messages; null: it does. `isSpoken`: the response is to be sound. */
export function useConversation(
  baseUrl: string,
  settings: PlaygroundSettings,
  use: MediaUse | null = null,
  isSpoken = false,
): Conversation {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [running, setRunning] = useState<Answer | null>(null);
  const [failure, setFailure] = useState<MessageRejected | null>(null);
  const stopping = useRef<AbortController | null>(null);
  // Leaving the page ends the stream.
  useEffect(() => () => stopping.current?.abort(), []);

  const run = async (sent: readonly Turn[], key: string) => {
    if (stopping.current !== null) return;
    const controller = new AbortController();
    stopping.current = controller;
    const body = bodyOf(settings, sent);
    setTurns(sent);
    setFailure(null);
    setRunning(emptyAnswer);
    try {
      const result = await answerTo({
        ...{ baseUrl, key, settings, use, isSpoken, sent, body },
        ...{ signal: controller.signal, onAnswer: setRunning },
      });
      const isStopped = controller.signal.aborted;
      if (stopping.current === controller) setTurns([...sent, { role: 'assistant', ...result, isStopped, body }]);
    } catch (thrown) {
      if (stopping.current === controller && thrown instanceof MessageRejected && thrown.code !== 'stopped')
        setFailure(thrown);
      else if (!(thrown instanceof MessageRejected)) throw thrown;
    } finally {
      // A new conversation may have started in the meantime.
      if (stopping.current === controller) {
        stopping.current = null;
        setRunning(null);
      }
    }
  };
  const untilLastUserTurn = turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1);
  return {
    turns,
    running,
    failure,
    send: (content, secret) => content.length > 0 && void run([...turns, { role: 'user', content }], secret),
    again: (secret) => void run(untilLastUserTurn, secret),
    stop: () => stopping.current?.abort(),
    takeBack() {
      const last = untilLastUserTurn.at(-1);
      setTurns(untilLastUserTurn.slice(0, -1));
      setFailure(null);
      return last?.role === 'user' ? last.content : [];
    },
    startOver() {
      stopping.current?.abort();
      stopping.current = null;
      setTurns([]);
      setRunning(null);
      setFailure(null);
    },
  };
}

interface Asked {
  baseUrl: string;
  key: string;
  settings: PlaygroundSettings;
  use: MediaUse | null;
  isSpoken: boolean;
  sent: readonly Turn[];
  body: object;
  signal: AbortSignal;
  onAnswer: (answer: Answer) => void;
}

/** By the protocol that the model, or the sound of the conversation, needs. Rejects with MessageRejected. */
async function answerTo({ baseUrl, key, settings, use, isSpoken, sent, body, signal, onAnswer }: Asked): Promise<Sent> {
  const at = { baseUrl, key, signal };
  if (use !== null) {
    const content = sent.findLast((turn) => turn.role === 'user')?.content ?? [];
    const { sendMedia } = await loadPage(() => import('./send-media.ts'));
    return await sendMedia({ ...at, use, model: settings.model, content });
  }
  if (!isSpoken && !sent.some(hasSound)) return await sendMessage({ ...at, body, onAnswer });
  const { sendSound } = await loadPage(() => import('./send-sound.ts'));
  return await sendSound({ ...at, settings, turns: sent, isSpoken });
}
