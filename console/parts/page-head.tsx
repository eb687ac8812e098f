// The head of a page: its name, a sentence, what can be done there. Also sets the title of the window.

import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { words } from '../words.ts';

interface PageHeadProps {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
}

export function PageHead({ title, text, actions }: PageHeadProps) {
  useDocumentTitle(`${title} · ${words.product}`);
  return (
    <Group justify="space-between" align="flex-end" mb="lg" gap="md">
      <Stack gap={2} miw={0} style={{ flex: '1 1 280px' }}>
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {text !== undefined && (
          <Text c="dimmed" size="sm" maw={720} component="div">
            {text}
          </Text>
        )}
      </Stack>
      {actions !== undefined && (
        <Group gap="xs" className="no-print">
          {actions}
        </Group>
      )}
    </Group>
  );
}
