// What needs somebody in words, of the figures that the API gives; and where it is mended, by role.

import type { AttentionShape } from '../../../src/admin-api/shapes.ts';
import { formatShare } from '../../figures.ts';
import type { Role } from '../../me.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { words } from '../../words.ts';

const { attention: its } = words.overview;

export interface AttentionWords {
  title: string;
  text: string;
  mend: { to: string; search?: Record<string, string>; label: string };
}

export function attentionWords(one: AttentionShape, role: Role): AttentionWords {
  const name = one.account_name ?? one.account ?? '';
  const money = (usd: string | null) => formatMoney(usd ?? '0');
  const { mend } = its;
  if (one.kind === 'balance_low') {
    const to = role === 'owner' ? '/balance' : `/accounts/${one.account}/balance`;
    return {
      title: its.balance(name, money(one.available)),
      text: balanceText(one),
      mend: { to, label: mend.balance },
    };
  }
  if (one.kind === 'provider_failing')
    return {
      title: its.provider(one.provider ?? ''),
      text: providerText(one),
      mend: { to: '/providers', label: mend.provider },
    };
  if (one.kind === 'written_off')
    return {
      title: its.writtenOff(name, money(one.written_off)),
      text: its.writtenOffText(money(one.cost)),
      mend: {
        to: '/usage',
        search: { ...(role !== 'owner' && one.account !== null && { account: one.account }), outcome: 'quota_cut' },
        label: mend.usage,
      },
    };
  if (one.kind === 'key_quota_low')
    return {
      title: its.quota(one.key_name || (one.key ?? ''), formatShare(one.share ?? 0)),
      text: its.quotaText(money(one.quota_used), money(one.quota), name),
      mend: { to: `/keys/${one.key}`, label: mend.key },
    };
  return {
    title: its.disabled(name),
    text: its.disabledText(money(one.cost)),
    mend: { to: `/accounts/${one.account}`, label: mend.account },
  };
}

function balanceText({ days_left, cost_per_day }: AttentionShape): string {
  if (days_left === null || days_left === 0) return its.balanceOut;
  const left = days_left < 1 ? its.hours(Math.max(1, Math.floor(days_left * 24))) : its.days(Math.floor(days_left));
  return its.balanceDays(left, formatMoney(cost_per_day ?? '0'));
}

function providerText({ failures, share }: AttentionShape): string {
  const said = [
    failures === null || failures === 0 ? null : its.providerFailures(failures),
    share === null || share === 0 ? null : its.providerShare(formatShare(share)),
  ];
  return said.filter((part) => part !== null).join(' ');
}
