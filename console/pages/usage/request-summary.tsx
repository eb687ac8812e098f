// A request in four figures: how it ended, what it cost, how much it was, how long it took.

import { SimpleGrid, Text } from '@mantine/core';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatMs, formatShort } from '../../figures.ts';
import { formatMoney, Money, nanoOf } from '../../parts/money.tsx';
import { StatTile } from '../../parts/stat-tile.tsx';
import { words } from '../../words.ts';

const { request: its } = words;

export function RequestSummary({ receipt }: { receipt: ReceiptShape }) {
  const { cost, written_off, cache_read_input_tokens: read, output_tokens: output } = receipt;
  const input = receipt.input_tokens + read + receipt.cache_creation_input_tokens;
  const split = its.tokensText(formatCount(input), formatCount(output));
  const firstToken = receipt.first_token_ms;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      <StatTile
        label={words.usage.outcome}
        value={
          <Text span inherit fz="lg" style={{ whiteSpace: 'normal' }}>
            {words.outcomes[receipt.outcome]}
          </Text>
        }
        note={String(receipt.status)}
      />
      <StatTile
        label={its.cost}
        value={<Money usd={cost} />}
        {...(nanoOf(written_off) !== 0n && { note: its.writtenOffText(formatMoney(written_off)) })}
      />
      <StatTile
        label={its.tokens}
        value={formatShort(input + output)}
        note={read === 0 ? split : `${split}; ${its.cachedText(formatCount(read))}`}
      />
      <StatTile
        label={its.duration}
        value={formatMs(receipt.latency_ms)}
        {...(firstToken !== null && { note: its.firstTokenAfter(formatMs(firstToken)) })}
      />
    </SimpleGrid>
  );
}
