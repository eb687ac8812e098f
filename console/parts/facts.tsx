// What something is, as pairs of a name and a value. What is null is left out.

import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';

export interface Fact {
  name: string;
  value: ReactNode;
}

export function Facts({ facts }: { facts: readonly (Fact | null)[] }) {
  return (
    <Box component="dl" m={0} style={{ display: 'grid', gridTemplateColumns: 'auto 1fr', gap: '6px 16px' }}>
      {facts.map((fact) => fact !== null && <Pair key={fact.name} {...fact} />)}
    </Box>
  );
}

function Pair({ name, value }: Fact) {
  return (
    <>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
    </>
  );
}
