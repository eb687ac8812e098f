// Backup codes of a second factor, shown once: to be copied or saved before one goes on.

import { Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { words } from '../words.ts';
import { CopyButton } from './copy-button.tsx';
import { saveFile } from './csv-button.tsx';
import { Icon } from './icon.tsx';

const { profile } = words;

export function BackupCodes({ codes, onKept }: { codes: readonly string[]; onKept: () => void }) {
  const text = `${codes.join('\n')}\n`;
  return (
    <Stack gap="sm">
      <Text size="sm">{profile.codesText}</Text>
      <SimpleGrid cols={2} spacing="xs" role="list" aria-label={profile.codesTitle}>
        {codes.map((code) => (
          <Code key={code} role="listitem" ta="center" fz="sm">
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <Group gap="xs">
          <CopyButton text={text} />
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="download" sizePx={16} />}
            onClick={() => saveFile(profile.codesFile, [text], 'text/plain')}
          >
            {profile.codesSave}
          </Button>
        </Group>
        <Button onClick={onKept}>{profile.codesKept}</Button>
      </Group>
    </Stack>
  );
}
