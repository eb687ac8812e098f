// The cost breakdown of a request, recalculated here and compared with the recorded cost.

import { Alert, Text } from '@mantine/core';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, printDecimal } from '../../figures.ts';
import { formatRate, nanoOf, negated, usdOf } from '../../money.ts';
import { type Column, PlainTable } from '../../parts/data-table.tsx';
import { Icon } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { unitLabels } from '../../units.ts';
import { calculatePrice, type PriceCalculation, type PriceLine } from './calculate-price.ts';
import { reasonOf } from './columns.tsx';

const tierTexts = {
  standard: null,
  long_context: 'Long-context rates apply: the prompt exceeds the threshold.',
  fast: 'Fast rates apply: the provider served the request in its fast tier.',
  fast_long_context: 'Fast rates for a long context apply: the prompt exceeds the threshold of the tier.',
  flex: 'Flex rates apply: the provider served the request in its flex tier.',
  flex_long_context: 'Flex rates for a long context apply: the prompt exceeds the threshold of the tier.',
  ultrafast: 'Ultrafast rates apply: the provider served the request in its ultrafast tier.',
  ultrafast_long_context: 'Ultrafast rates for a long context apply: the prompt exceeds the threshold of the tier.',
  unbilled: 'The model refused before any output, which the provider does not bill.',
} as Readonly<Record<string, string | null>>;

const partLabels = {
  input: 'Input',
  cache_read: 'Cache read',
  cache_write_5m: 'Cache write (5 minutes)',
  cache_write_1h: 'Cache write (1 hour)',
  output: 'Output',
  web_search: 'Web searches',
  ...unitLabels,
  seconds: 'Seconds of sound',
} as const;

const perLabels = { million: '/ M', thousand: '/ K', hour: '/ hour', one: 'each' };

const unitTitles = { million: 'per million', thousand: 'per thousand', hour: 'per hour', one: 'each' };

export function RequestPrice({ receipt }: { receipt: ReceiptShape }) {
  const price = calculatePrice(receipt);
  const { tier = '', from } = receipt.rates;
  const tierText = tierTexts[tier] ?? null;
  const hasText = tierText !== null || from !== undefined;
  if (price === null)
    return (
      <Section title="Cost breakdown">
        <Hint>
          {nanoOf(receipt.cost) === 0n
            ? freeText(receipt)
            : 'The record does not contain all rates, so the cost cannot be recalculated.'}
        </Hint>
        {nanoOf(receipt.cost) !== 0n && <PriceTable rows={finalRows(receipt)} />}
      </Section>
    );
  return (
    <Section
      title="Cost breakdown"
      isPadded={false}
      {...(hasText && { text: <PriceVersion tierText={tierText} from={from} /> })}
    >
      <PriceTable rows={[...price.lines.map(rowOfLine), ...sumRows(price, receipt.group), ...finalRows(receipt)]} />
      <Verification price={price} receipt={receipt} />
    </Section>
  );
}

function PriceVersion({ tierText, from }: { tierText: string | null; from: string | undefined }) {
  return (
    <>
      {tierText}
      {from !== undefined && (
        <>
          {' The price effective since '}
          <When at={from} isPrecise />
          {' applies.'}
        </>
      )}
    </>
  );
}

/** Why a request without rates cost nothing. */
function freeText(receipt: ReceiptShape): string {
  if (receipt.usage_source !== 'none') return 'This request used nothing that is billed.';
  if (receipt.outcome === 'completed') return 'The provider reported no tokens, so nothing is billed.';
  const reason = reasonOf(receipt);
  return `Nothing is billed: the request ended before any output${reason === null ? '' : ` (${reason})`}.`;
}

interface PriceRow {
  label: string;
  /** A row of the price list; sums have none. */
  line?: PriceLine;
  /** USD. */
  usd?: string;
  /** Instead of an amount. */
  factor?: string;
  isStrong?: boolean;
}

function PriceTable({ rows }: { rows: readonly PriceRow[] }) {
  return (
    <PlainTable
      label="Cost breakdown"
      rows={rows}
      keyOf={({ label }) => label}
      columns={priceColumns}
      isStrong={({ isStrong = false }) => isStrong}
    />
  );
}

const priceColumns: Column<PriceRow>[] = [
  {
    name: 'part',
    label: 'Item',
    show: ({ label, line }) => (
      <>
        {label}
        {line !== undefined && (
          <Hint size="xs" hiddenFrom="sm" className="tabular">
            {`${formatCount(line.count)} × ${formatRate(line.rate)} ${perLabels[line.per]}`}
          </Hint>
        )}
      </>
    ),
  },
  {
    name: 'quantity',
    label: 'Quantity',
    align: 'right',
    from: 'sm',
    show: ({ line }) => line && <span className="tabular">{formatCount(line.count)}</span>,
  },
  {
    name: 'rate',
    label: 'Rate',
    align: 'right',
    from: 'sm',
    rate: ({ line }) => line?.rate,
    show: ({ line }, digits) =>
      line && (
        <span className="tabular" title={unitTitles[line.per]}>
          {`${formatRate(line.rate, digits)} ${perLabels[line.per]}`}
        </span>
      ),
  },
  {
    name: 'amount',
    label: 'Amount',
    align: 'right',
    show: ({ usd, factor }) =>
      usd === undefined ? <span className="tabular">{factor}</span> : <Money usd={usd} precision="request" />,
  },
];

function rowOfLine(line: PriceLine): PriceRow {
  return { label: partLabels[line.part], line, usd: line.amount };
}

/** The sum of the lines, its multiplier, and a refund of the cost, which is rounded up to a nanodollar. */
function sumRows({ sum, multiplier, afterRounding, refunded, isVerified }: PriceCalculation, group: string | null) {
  const rows: PriceRow[] = [{ label: 'Subtotal', usd: sum }];
  if (multiplier !== '1')
    rows.push({
      label: group === null ? 'Price multiplier' : `Price multiplier of group ${group}`,
      factor: `× ${multiplier}`,
    });
  if (refunded !== '0' && isVerified)
    rows.push({ label: 'Before refunds', usd: afterRounding }, { label: 'Refunded', usd: negated(refunded) });
  return rows;
}

/** The cost, and the amount charged if a part was written off. */
function finalRows({ cost, written_off }: ReceiptShape): PriceRow[] {
  const writtenOff = nanoOf(written_off);
  const rows: PriceRow[] = [{ label: 'Cost', usd: cost, isStrong: true }];
  if (writtenOff !== 0n)
    rows.push(
      { label: 'Written off (insufficient balance)', usd: negated(written_off) },
      { label: 'Charged to balance', usd: usdOf(nanoOf(cost) - writtenOff), isStrong: true },
    );
  return rows;
}

function Verification({ price, receipt }: { price: PriceCalculation; receipt: ReceiptShape }) {
  // The price that the service recorded, if any, must match as well.
  const said = receipt.price === null ? price.afterRounding : printDecimal(nanoOf(receipt.price.after_rounding), 9);
  const isVerified = price.isVerified && said === price.afterRounding;
  return (
    <Alert m="md" mt={0} color={isVerified ? 'teal' : 'red'} icon={<Icon name={isVerified ? 'check' : 'warning'} />}>
      <Text size="sm">
        {isVerified
          ? 'Verified: recalculated cost matches.'
          : 'The recalculated cost differs from the recorded cost. Contact an operator of this service.'}
      </Text>
    </Alert>
  );
}
