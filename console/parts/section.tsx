// A part of a page with its heading, in a frame.

import { Card, Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

interface SectionProps {
  title: string;
  text?: ReactNode;
  /** At the right of the heading. */
  aside?: ReactNode;
  /** False: what is within goes to the frame's edges, as a table does. */
  isPadded?: boolean;
  children: ReactNode;
}

export function Section({ title, text, aside, isPadded = true, children }: SectionProps) {
  const headingId = useId();
  return (
    <Card withBorder p={0} component="section" aria-labelledby={headingId}>
      <Group justify="space-between" align="flex-start" px="md" pt="md" pb="xs" gap="xs">
        <Stack gap={2} miw={0} flex="1 1 240px">
          <Title order={2} size="h5" id={headingId}>
            {title}
          </Title>
          {text !== undefined && (
            <Text size="xs" c="dimmed" component="div">
              {text}
            </Text>
          )}
        </Stack>
        {aside}
      </Group>
      <Stack gap="sm" {...(isPadded && { px: 'md', pb: 'md' })}>
        {children}
      </Stack>
    </Card>
  );
}
