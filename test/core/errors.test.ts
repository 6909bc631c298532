import { describe, expect, it } from 'vitest';
import { SettingError } from '../../core/errors.ts';

describe('a SettingError', () => {
  const emoji = '😀'.repeat(60);
  it.each([
    ['text', emoji],
    ['text after one letter', `x${emoji}`],
    ['half a surrogate pair', `${'x'.repeat(10)}\ud83d`],
    ['an object', { [emoji]: emoji }],
    ['an object after one letter', { [`x${emoji}`]: emoji }],
    ['a list', [`${emoji}`]],
    ['a symbol', Symbol(emoji)],
    ['a symbol after one letter', Symbol(`x${emoji}`)],
    ['a symbol with half a surrogate pair and NUL', Symbol('\ud83d\0')],
  ])('shows %s as text that a database can store', (_what, value) => {
    const { message } = new SettingError('zone', 'a zone', value);

    expect(message.isWellFormed()).toBe(true);
    expect(message).not.toContain('\0');
    expect(message.length).toBeLessThan(120);
  });
});
