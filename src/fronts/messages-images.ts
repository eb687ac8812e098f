// A message to a model that makes images, as a request for an image.

import { bounds } from '../config/config.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, textOf, wrongField } from '../wire/wire.ts';
import type { ImagesForm, Translated } from './front.ts';
import { type GivenImage, readDrawing } from './images/images.ts';

/** The conversation is one prompt: all of its texts, with all of its images. Throws invalid_request. */
export function drawMessage(body: JsonObject, form: ImagesForm): Omit<Translated, 'native' | 'answer'> {
  if (jsonObjects(body['tools']).length > 0) throw wrongField('tools', 'an image is made without tools');
  const texts: string[] = [];
  const images: GivenImage[] = [];
  for (const [path, content] of contentsOf(body))
    if (typeof content === 'string') texts.push(content);
    else
      for (const [index, block] of jsonObjects(content).entries()) addBlock(block, `${path}.${index}`, texts, images);
  const prompt = texts.filter((text) => text !== '').join('\n\n');
  if (prompt === '') throw wrongField('messages', 'Input should have a text');
  if (images.length > bounds.editedImagesMax)
    throw wrongField('messages', `must not have more than ${bounds.editedImagesMax} images`);
  const user = objectOf(body['metadata'])['user_id'] ?? null;
  const fields = { model: textOf(body['model']), prompt, ...(user !== null && { user }) };
  const { message, ...read } = readDrawing(fields, images);
  return { message: { ...message, answer_form: form }, ...read };
}

function contentsOf(body: JsonObject): [path: string, content: JsonValue | undefined][] {
  const turns = jsonObjects(body['messages']).map(({ content }, index): [string, JsonValue | undefined] => [
    `messages.${index}.content`,
    content,
  ]);
  return [['system', body['system']], ...turns];
}

function addBlock(block: JsonObject, path: string, texts: string[], images: GivenImage[]): void {
  switch (block['type']) {
    case 'text':
      texts.push(textOf(block['text']));
      return;
    case 'thinking':
    case 'redacted_thinking':
      return;
    case 'image': {
      const { type, media_type, data, url } = objectOf(block['source']);
      const isInline = type === 'base64';
      if (!isInline && type !== 'url') throw wrongField(`${path}.source`, 'Input should be base64, or an address');
      images.push({
        url: isInline ? `data:${textOf(media_type)};base64,${textOf(data)}` : textOf(url),
        path: `${path}.source`,
      });
      return;
    }
    default:
      throw wrongField(`${path}.type`, 'Input should be a text or an image, where an image is made');
  }
}
