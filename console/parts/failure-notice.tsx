// A failure in words: what went wrong, with the request's id for the operator, and a way to try again.

import { Alert, Button, Code, List, Stack, Text } from '@mantine/core';
import { ApiFailure } from '../api.ts';
import { words } from '../words.ts';
import { Icon } from './icon.tsx';

interface FailureNoticeProps {
  failure: unknown;
  title?: string;
  onRetry?: () => void;
}

export function FailureNotice({ failure, title = words.failure.title, onRetry }: FailureNoticeProps) {
  if (failure === null || failure === undefined) return null;
  const faults = failure instanceof ApiFailure ? failure.faults : [];
  return (
    <Alert color="red" variant="light" title={title} icon={<Icon name="warning" />} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{wordsOfFailure(failure)}</Text>
        {faults.length > 1 && (
          <List size="sm">
            {faults.map(({ path, message }) => (
              <List.Item key={`${path.join('.')} ${message}`}>
                {path.length > 0 && <Code>{path.join('.')}</Code>} {message}
              </List.Item>
            ))}
          </List>
        )}
        {failure instanceof ApiFailure && failure.requestId !== null && (
          <Text size="xs" c="dimmed">
            {words.failure.request(failure.requestId)}
          </Text>
        )}
        {onRetry !== undefined && (
          <Button size="xs" variant="light" color="red" onClick={onRetry}>
            {words.failure.tryAgain}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

export function wordsOfFailure(failure: unknown): string {
  if (failure instanceof ApiFailure && failure.code === 'unreachable') return words.failure.unreachable;
  return failure instanceof Error ? failure.message : String(failure);
}
