// What needs somebody, the most urgent first, each with the place where it is mended. Nothing where nothing does.

import { Badge, Box, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AttentionListShape, AttentionShape } from '../../../src/admin-api/shapes.ts';
import { useMe } from '../../me.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Section } from '../../parts/section.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';
import { attentionWords } from './attention-words.ts';

const { attention: its } = words.overview;
const SHOWN_MAX = 4;
const ASKED_EVERY_MS = 60_000;

export function AttentionList() {
  const { data, error, refetch } = useAsk<AttentionListShape>('/attention', {}, { everyMs: ASKED_EVERY_MS });
  const [showsAll, setShowsAll] = useState(false);
  if (data === undefined)
    return error === null ? null : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data.data.length === 0) return null;
  const shown = showsAll ? data.data : data.data.slice(0, SHOWN_MAX);
  return (
    <Section title={its.title}>
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {shown.map((one) => (
          <Box component="li" key={`${one.kind} ${one.account} ${one.key} ${one.provider}`}>
            <Row one={one} />
          </Box>
        ))}
      </Stack>
      {shown.length < data.data.length && (
        <Group>
          <Button variant="subtle" size="xs" onClick={() => setShowsAll(true)}>
            {its.showAll(data.data.length)}
          </Button>
        </Group>
      )}
    </Section>
  );
}

function Row({ one }: { one: AttentionShape }) {
  const { role } = useMe();
  const { title, text, mend } = attentionWords(one, role);
  const isCritical = one.severity === 'critical';
  return (
    <Group gap="xs" align="flex-start" justify="space-between">
      <Group gap="sm" wrap="nowrap" align="flex-start" miw={0} style={{ flex: '1 1 260px' }}>
        <Badge color={isCritical ? 'red' : 'yellow'} variant="light" tt="none" miw="max-content" mt={1}>
          {isCritical ? its.critical : its.warning}
        </Badge>
        <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
          <Text span inherit fw={600}>
            {title}
          </Text>{' '}
          <Text span inherit c="dimmed">
            {text}
          </Text>
        </Text>
      </Group>
      <Text size="sm">
        <TextLink to={mend.to} {...(mend.search !== undefined && { search: mend.search })}>
          {mend.label}
        </TextLink>
      </Text>
    </Group>
  );
}
