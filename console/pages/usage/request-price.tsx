// The price of a request, line by line, worked out again in this page; and whether that is what was recorded.

import { Alert, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { printDecimal } from '../../decimals.ts';
import { formatCount } from '../../figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { nanoOf } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { calculatePrice, type PriceCalculation, type PriceLine } from '../../price-lines.ts';
import { words } from '../../words.ts';

const { request: its } = words;

export function RequestPrice({ receipt }: { receipt: ReceiptShape }) {
  const price = calculatePrice(receipt);
  const tier = its.tiers[receipt.rates['tier'] ?? ''] ?? null;
  if (price === null)
    return (
      <Section title={its.price}>
        <Text size="sm" c="dimmed">
          {nanoOf(receipt.cost) === 0n ? its.notPriced : its.notWorkedOut}
        </Text>
        {nanoOf(receipt.cost) !== 0n && (
          <Table aria-label={its.price}>
            <Table.Tbody>
              <Ending receipt={receipt} />
            </Table.Tbody>
          </Table>
        )}
      </Section>
    );
  return (
    <Section title={its.price} isPadded={false} {...(tier !== null && { text: tier })}>
      <Table.ScrollContainer minWidth={0}>
        <Table aria-label={its.price} verticalSpacing={6} horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{its.part}</Table.Th>
              <Table.Th ta="right" visibleFrom="sm">
                {its.count}
              </Table.Th>
              <Table.Th ta="right" visibleFrom="sm">
                {its.rate}
              </Table.Th>
              <Table.Th ta="right">{its.amount}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {price.lines.map((line) => (
              <LineRow key={line.part} line={line} />
            ))}
            <Rounding price={price} group={receipt.group} />
            <Ending receipt={receipt} />
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Proof price={price} receipt={receipt} />
    </Section>
  );
}

function LineRow({ line: { part, count, rate, per, amount } }: { line: PriceLine }) {
  return (
    <Table.Tr>
      <Table.Td>
        {its.parts[part]}
        <Text size="xs" c="dimmed" hiddenFrom="sm" className="tabular">
          {formatCount(count)} × ${rate} {its.per[per]}
        </Text>
      </Table.Td>
      <Table.Td ta="right" className="tabular" visibleFrom="sm">
        {formatCount(count)}
      </Table.Td>
      <Table.Td ta="right" className="tabular" visibleFrom="sm">
        ${rate}{' '}
        <Text span size="xs" c="dimmed" title={its.perTitle[per]}>
          {its.per[per]}
        </Text>
      </Table.Td>
      <Exact usd={amount} />
    </Table.Tr>
  );
}

function Rounding({ price, group }: { price: PriceCalculation; group: string }) {
  return (
    <>
      <SumRow label={its.sum} usd={price.sum} />
      {price.multiplier !== '1' && (
        <>
          <Table.Tr>
            <Table.Td>{its.multiplier(group)}</Table.Td>
            <NoCountAndRate />
            <Table.Td ta="right" className="tabular">
              × {price.multiplier}
            </Table.Td>
          </Table.Tr>
          <SumRow label={its.beforeRounding} usd={price.beforeRounding} />
        </>
      )}
      {price.afterRounding !== price.beforeRounding && <SumRow label={its.afterRounding} usd={price.afterRounding} />}
      {price.givenBack !== '0' && price.isRight && <SumRow label={its.givenBack} usd={price.givenBack} isTaken />}
    </>
  );
}

/** The cost, and where not all of it was to be had, what was taken. */
function Ending({ receipt: { cost, written_off } }: { receipt: ReceiptShape }) {
  const writtenOff = nanoOf(written_off);
  return (
    <>
      <SumRow label={its.cost} usd={cost} isStrong />
      {writtenOff !== 0n && (
        <>
          <SumRow label={its.writtenOff} usd={written_off} isTaken />
          <SumRow label={its.charged} usd={printDecimal(nanoOf(cost) - writtenOff, 9)} isStrong />
        </>
      )}
    </>
  );
}

interface SumRowProps {
  label: string;
  usd: string;
  isStrong?: boolean;
  isTaken?: boolean;
}

function SumRow({ label, usd, isStrong = false, isTaken = false }: SumRowProps) {
  return (
    <Table.Tr {...(isStrong && { fw: 650 })}>
      <Table.Td>{label}</Table.Td>
      <NoCountAndRate />
      <Exact usd={usd} sign={isTaken ? '−' : ''} />
    </Table.Tr>
  );
}

/** Cells instead of a span: on a phone both columns are left out. */
function NoCountAndRate() {
  return (
    <>
      <Table.Td visibleFrom="sm" />
      <Table.Td visibleFrom="sm" />
    </>
  );
}

/** To the last digit: here it is what one came for. */
function Exact({ usd, sign = '' }: { usd: string; sign?: string }): ReactNode {
  return (
    <Table.Td ta="right" className="tabular">
      {sign}${usd}
    </Table.Td>
  );
}

function Proof({ price, receipt }: { price: PriceCalculation; receipt: ReceiptShape }) {
  // What the service itself says of the price has to be the same, where it says something.
  const said = receipt.price === null ? price.afterRounding : printDecimal(nanoOf(receipt.price.after_rounding), 9);
  const isRight = price.isRight && said === price.afterRounding;
  return (
    <Alert
      m="md"
      mt={0}
      p="sm"
      color={isRight ? 'teal' : 'red'}
      variant="light"
      icon={<Icon name={isRight ? 'check' : 'warning'} />}
    >
      <Text size="sm">{isRight ? its.isRight : its.isWrong}</Text>
    </Alert>
  );
}
