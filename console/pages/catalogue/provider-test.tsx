// Tests a provider: a small request with each of its keys, and how each did in words.

import { Alert, Button, Group, List, Stack, Text } from '@mantine/core';
import type { ProviderTestShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { formatMs } from '../../figures.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

/** The test of one provider. Its health is asked again afterwards. */
export function useProviderTest(onDone?: (result: ProviderTestShape) => void) {
  return useChange(
    (name: string) => ask<ProviderTestShape>(`/providers/${encodeURIComponent(name)}/test`, { body: {} }),
    { ...(onDone !== undefined && { onDone }) },
  );
}

export function ProviderTest({ name }: { name: string }) {
  const test = useProviderTest();
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<Icon name="play" />}
          loading={test.isPending}
          onClick={() => test.mutate(name)}
        >
          {words.providers.test}
        </Button>
        <Text size="sm" c="dimmed">
          {words.providers.testing}
        </Text>
      </Group>
      <FailureNotice failure={test.error} />
      {test.data !== undefined && !test.isPending && <TestResult result={test.data} />}
    </Stack>
  );
}

export function TestResult({ result }: { result: ProviderTestShape }) {
  const { ok, ms, models, message, credentials } = result;
  return (
    <Alert
      color={ok ? 'teal' : 'red'}
      icon={<Icon name={ok ? 'check' : 'warning'} />}
      title={ok ? words.providers.testOk(formatMs(ms)) : words.providers.testFailed}
      role="status"
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {ok ? models !== null && words.providers.testModels(models) : message}
      </Text>
      {credentials.length > 1 && (
        <List size="sm" mt="xs">
          {credentials.map((one) => (
            <List.Item key={one.name} icon={<Icon name={one.ok ? 'check' : 'cross'} />}>
              <b>{one.name}</b>: {one.message}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  );
}
