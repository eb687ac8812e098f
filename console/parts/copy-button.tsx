// A button that copies a text and says that it has. Works on pages without the clipboard's own interface, too.

import { Button, type ButtonProps } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { words } from '../words.ts';
import { Icon } from './icon.tsx';

interface CopyButtonProps extends ButtonProps {
  text: string;
  label?: string;
  onCopied?: () => void;
}

export function CopyButton({ text, label = words.parts.copy, onCopied, ...button }: CopyButtonProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  const copy = () => {
    // Browsers give the clipboard to pages over TLS or on this machine only.
    if (navigator.clipboard === undefined) copyBySelection(text);
    clipboard.copy(text);
    onCopied?.();
  };
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Icon name={clipboard.copied ? 'check' : 'copy'} sizePx={16} />}
      onClick={copy}
      {...button}
    >
      {clipboard.copied ? words.parts.copied : label}
    </Button>
  );
}

function copyBySelection(text: string): void {
  const place = document.createElement('textarea');
  place.value = text;
  document.body.append(place);
  place.select();
  document.execCommand('copy');
  place.remove();
}
