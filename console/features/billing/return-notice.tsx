// The notice about a payment or purchase to a user who returns from the payment provider's page, and the bounded polling
// for its result.

import { Alert, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useCallback, useEffect, useState } from 'react';

const POLL_MS = 2_000;
/** A payment that is not settled then takes longer, such as a bank debit. */
const POLLING_MS_MAX = 90_000;

export interface ReturnWords {
  title: string;
  text: string;
  color: string;
  icon: ReactNode;
}

interface ReturnNoticeProps {
  words: ReturnWords;
  onClose: () => void;
  /** Links and buttons below the text. */
  children: ReactNode;
}

export function ReturnNotice({ words: { title, text, color, icon }, onClose, children }: ReturnNoticeProps) {
  return (
    <Alert
      color={color}
      title={title}
      icon={icon}
      role="status"
      withCloseButton
      onClose={onClose}
      closeButtonLabel="Close"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{text}</Text>
        <Group gap="md">{children}</Group>
      </Stack>
    </Alert>
  );
}

interface BoundedPolling {
  /** For useGet; undefined: polling has ended. */
  everyMs: number | undefined;
  isLate: boolean;
  pollAgain: () => void;
  settle: () => void;
}

/** Polls every two seconds until `settle` is called, for a bounded time. */
export function useBoundedPolling(isSettledAlready: boolean): BoundedPolling {
  const [round, setRound] = useState(0);
  const [isLate, setLate] = useState(false);
  const [isSettled, setSettled] = useState(isSettledAlready);
  // biome-ignore lint/correctness/useExhaustiveDependencies: starts anew with each round
  useEffect(() => {
    setLate(false);
    const late = setTimeout(() => setLate(true), POLLING_MS_MAX);
    return () => clearTimeout(late);
  }, [round]);
  return {
    everyMs: isSettled || isLate ? undefined : POLL_MS,
    isLate,
    pollAgain: () => setRound(round + 1),
    settle: useCallback(() => setSettled(true), []),
  };
}
