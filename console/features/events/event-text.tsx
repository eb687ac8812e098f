// The description of an event, whose times, amounts and percentages have the format of the console.

import { Fragment } from 'react';
import { Money } from '../../parts/money.tsx';
import { When } from '../../parts/times.tsx';

/** Times and amounts as the API writes them. */
const EXACT = /(\d{4}-\d{2}-\d{2}T[\d:.]+Z|-?\d+(?:\.\d+)? USD)/;

export function EventText({ text }: { text: string }) {
  // The matches are at odd places.
  return text
    .replace(/(?<=\d) %/g, '%')
    .split(EXACT)
    .map((part, at) => {
      const key = `${at} ${part}`;
      if (at % 2 === 0) return <Fragment key={key}>{part}</Fragment>;
      return part.endsWith(' USD') ? (
        <Money key={key} usd={part.slice(0, -4)} />
      ) : (
        <When key={key} at={part} isPrecise />
      );
    });
}
