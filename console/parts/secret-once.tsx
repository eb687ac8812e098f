// A secret that is shown this once: to be copied before one goes on.

import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import { words } from '../words.ts';
import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';

export function SecretOnce({ secret, label }: { secret: string; label: string }) {
  return (
    <Alert
      color="yellow"
      variant="light"
      title={label}
      icon={<Icon name="warning" />}
      // The colour of the frame is too pale for words on it.
      styles={{ title: { color: 'var(--mantine-color-text)' }, icon: { color: 'var(--mantine-color-text)' } }}
    >
      <Stack gap="xs">
        <Text size="sm">{words.parts.secretOnce}</Text>
        <Group gap="xs" align="center">
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }} data-testid="secret">
            {secret}
          </Code>
          <CopyButton text={secret} />
        </Group>
      </Stack>
    </Alert>
  );
}
