// A filter that is typed: put into the address once whoever types it pauses, and following the address when that is
// changed elsewhere.

import { TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

const TYPING_MS = 400;

interface TypedFilterProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  value: string;
  onChange: (value: string) => void;
}

export function TypedFilter({ value, onChange, ...input }: TypedFilterProps) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const send = useDebouncedCallback((next: string) => {
    sent.current = next;
    onChange(next);
  }, TYPING_MS);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const type = (next: string) => {
    setText(next);
    send(next.trim());
  };
  return <TextInput {...input} value={text} onChange={(event) => type(event.currentTarget.value)} />;
}
