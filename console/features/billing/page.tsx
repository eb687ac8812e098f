// The frame of the billing pages of an account: title, links between the pages, and notices about its funds.

import { Alert, Group, NativeSelect, type NativeSelectProps, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { useMe } from '../../me.tsx';
import { formatMoney, nanoOf } from '../../money.ts';
import { ButtonLink, Icon, pathOf } from '../../parts/link.tsx';
import { Loading, PageFailure, PageHead } from '../../parts/page.tsx';
import { useMonth } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { monthOptions } from '../../times.ts';
import { monthsSince } from './daily-balance.ts';

const pageTitles = { billing: 'Billing', plan: 'Plan', payments: 'Payments', transactions: 'Transactions' };
const pageTexts = {
  billing: 'Available funds, recharges, and holds of running requests.',
  plan: 'Allowances that pay for requests before the balance does.',
  payments: 'Recharges and other payments, with receipts.',
  transactions: 'Every balance change: credits and the cost of each request.',
};
const linkLabels = { ...pageTitles, billing: 'Overview' };

type BillingPageName = keyof typeof pageTitles;

const REFRESH_MS = 5_000;

interface BillingPageProps {
  name: BillingPageName;
  actions?: (account: AccountShape) => ReactNode;
  children: (account: AccountShape) => ReactNode;
}

/** A page of the account in the address, or else of the user's own account. */
export function BillingPage({ name, actions, children }: BillingPageProps) {
  const me = useMe();
  const { accountId = me.account?.id ?? '' } = useParams({ strict: false });
  const { data: account, error, refetch } = useGet('/accounts/{id}', { id: accountId, everyMs: REFRESH_MS });
  if (account === undefined || account.id !== accountId)
    return error === null ? <Loading /> : <PageFailure failure={error} onRetry={() => void refetch()} />;
  const title = pageTitles[name];
  return (
    <>
      <PageHead
        title={me.account?.id === accountId ? title : `${title} of ${account.name}`}
        text={pageTexts[name]}
        actions={actions?.(account)}
      />
      <Stack gap="lg">
        <BillingLinks accountId={accountId} current={name} />
        {children(account)}
      </Stack>
    </>
  );
}

const MONTHS_MAX = 36;

/** The month of a statement, which is that of the time range. */
export function MonthSelect({ account, ...input }: NativeSelectProps & { account: AccountShape }) {
  const [month, choose] = useMonth();
  const months = monthsSince(account.created_at, Date.now(), MONTHS_MAX);
  return (
    <NativeSelect
      {...input}
      data={monthOptions(months.includes(month) ? months : [month, ...months])}
      value={month}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    />
  );
}

/** The path of a billing page, by whether the account is the user's own. */
export function usePathOfBilling(): (accountId: string, name?: BillingPageName) => string {
  const me = useMe();
  return (accountId, name = 'billing') => {
    if (me.account?.id !== accountId) return `${pathOf.account(accountId)}/${name}`;
    return name === 'billing' ? '/billing' : `/billing/${name}`;
  };
}

function BillingLinks({ accountId, current }: { accountId: string; current: BillingPageName }) {
  const pathOfBilling = usePathOfBilling();
  return (
    <Group component="nav" aria-label="Billing" gap={4} className="no-print">
      {(Object.keys(linkLabels) as BillingPageName[]).map((name) => (
        <ButtonLink
          key={name}
          label={linkLabels[name]}
          to={pathOfBilling(accountId, name)}
          size="sm"
          px="sm"
          {...(name === current ? { variant: 'light', 'aria-current': 'page' } : { variant: 'subtle', color: 'gray' })}
        />
      ))}
    </Group>
  );
}

/** What keeps the account from spending, if anything. */
export function FundsNotices({ account }: { account: AccountShape }) {
  const isOwing = nanoOf(account.debt) > 0n;
  return (
    <>
      {account.status === 'disabled' && (
        <Notice text="This account is disabled. Requests with its keys are rejected." isGray />
      )}
      {isOwing && (
        <Notice
          text={`The account owes ${formatMoney(account.debt)} because a payment was refunded or disputed after it was spent. The next credit pays off this debt first.`}
        />
      )}
      <RefusedNotice account={account} />
    </>
  );
}

/** The forecast says since when requests are refused, also while some money is left that no request fits into. */
function RefusedNotice({ account }: { account: AccountShape }) {
  const { data } = useGet('/accounts/{id}/forecast', { id: account.id, everyMs: REFRESH_MS });
  const since = data?.refused_since ?? null;
  if (since !== null && data?.cause === 'insufficient_user_quota')
    return (
      <Notice
        text={
          <>
            {'Requests are refused since '}
            <When at={since} />
            {', because too little is available. Add credit, or raise a limit.'}
          </>
        }
      />
    );
  if (nanoOf(account.available) > 0n) return null;
  return <Notice text="No funds available. New requests are rejected until credit is added." />;
}

function Notice({ text, isGray = false }: { text: ReactNode; isGray?: boolean }) {
  return (
    <Alert color={isGray ? 'gray' : 'orange'} icon={<Icon name={isGray ? 'stop' : 'warning'} />}>
      {text}
    </Alert>
  );
}
