// A field for an amount in USD, which takes it in the forms that people type, and shows how it was read.

import { TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { amountOf, isBegun, type ReadAmount, readAmount } from '../amounts.ts';
import { formatExactMoney } from '../money.ts';
import { Hint } from './page.tsx';

interface AmountFieldProps extends Omit<TextInputProps, 'value' | 'defaultValue' | 'onChange'> {
  value?: string;
  /** Gets the amount for the API; a text that is not an amount as it is. */
  onChange?: (usd: string) => void;
  /** The most fraction digits: nine, and more for rates. */
  digitsMax?: number;
}

export function AmountField({ value = '', onChange, digitsMax, error, ...input }: AmountFieldProps) {
  const [typed, setTyped] = useState(value);
  // Another value than the one that was typed comes from the form.
  const text = amountOf(typed, digitsMax) === value ? typed : value;
  const read = readAmount(text, digitsMax);
  return (
    <TextInput
      inputMode="decimal"
      autoComplete="off"
      {...input}
      {...noteOf(read)}
      value={text}
      error={error ?? (isBegun(text) ? null : read.fault)}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange?.(amountOf(currentTarget.value, digitsMax));
      }}
    />
  );
}

/** Shows below a field which amount was read. */
export function noteOf({ usd, isConverted }: ReadAmount): Pick<TextInputProps, 'inputContainer'> {
  return {
    inputContainer: (field) => (
      <>
        {field}
        <Hint size="xs" mt={isConverted ? 2 : 0} className="tabular" component="div" aria-live="polite">
          {isConverted && `= ${formatExactMoney(usd)}`}
        </Hint>
      </>
    ),
  };
}
