// The turns of a conversation and the answer that streams: sent, stopped, sent again, taken back. In memory only.

import { useEffect, useRef, useState } from 'react';
import { type Answer, type Block, noAnswer } from '../../message-blocks.ts';
import { bodyOf, type PlaygroundSettings, type Turn } from '../../playground-request.ts';
import { MessageRefused, sendMessage } from '../../send-message.ts';

export interface Conversation {
  turns: readonly Turn[];
  /** The answer as far as it has come; null: none is awaited. */
  running: Answer | null;
  failure: MessageRefused | null;
  send: (content: readonly Block[]) => void;
  /** Asks for the answer to the last turn of one's own once more. */
  again: () => void;
  stop: () => void;
  /** Takes the last turn of one's own away, and gives it. */
  takeBack: () => readonly Block[];
  startOver: () => void;
}

export function useConversation(baseUrl: string, key: string | null, settings: PlaygroundSettings): Conversation {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [running, setRunning] = useState<Answer | null>(null);
  const [failure, setFailure] = useState<MessageRefused | null>(null);
  const stopping = useRef<AbortController | null>(null);
  // Whoever leaves the page leaves the stream, too.
  useEffect(() => () => stopping.current?.abort(), []);

  const run = async (asked: readonly Turn[]) => {
    if (key === null || stopping.current !== null) return;
    const controller = new AbortController();
    stopping.current = controller;
    const body = bodyOf(settings, asked);
    setTurns(asked);
    setFailure(null);
    setRunning(noAnswer);
    try {
      const sent = await sendMessage({ baseUrl, key, body, signal: controller.signal, onAnswer: setRunning });
      const isStopped = controller.signal.aborted;
      if (stopping.current === controller) setTurns([...asked, { role: 'assistant', ...sent, isStopped, body }]);
    } catch (thrown) {
      if (stopping.current === controller && thrown instanceof MessageRefused && thrown.code !== 'stopped')
        setFailure(thrown);
      else if (!(thrown instanceof MessageRefused)) throw thrown;
    } finally {
      // Another conversation may have begun meanwhile.
      if (stopping.current === controller) {
        stopping.current = null;
        setRunning(null);
      }
    }
  };
  const asked = lastAsked(turns);
  return {
    turns,
    running,
    failure,
    send: (content) => void run([...turns, { role: 'user', content }]),
    again: () => void run(asked),
    stop: () => stopping.current?.abort(),
    takeBack() {
      const last = asked.at(-1);
      setTurns(asked.slice(0, -1));
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

/** The turns up to the last of one's own, with it. */
function lastAsked(turns: readonly Turn[]): readonly Turn[] {
  return turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1);
}
