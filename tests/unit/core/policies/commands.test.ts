import { describe, expect, it } from 'vitest';
import { commandHelp, commandIn } from '../../../../router/src/core/policies/session.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';

describe('commandIn', () => {
  it.each([
    ['/new', 'new'],
    [' /RESET\n', 'new'],
    ['/help', 'help'],
    ['@5493777000001 /stop', 'stop'],
    ['/status', 'status'],
    ['/newer', undefined],
    ['/new session', undefined],
    ['new', undefined],
    ['/constructor', undefined],
    ['', undefined],
  ])('reads %j as %s', (text, command) => {
    expect(commandIn(text)).toBe(command);
  });
});

describe('commandHelp', () => {
  it('lists the commands that are on', () => {
    const settings = chatSettingsOf(undefined, { commands: { new: false, status: false } });
    expect(commandHelp(settings, 'en')).toBe(
      'You can write:\n- /stop: stop the answer that is being made\n- /help: show this help',
    );
  });
});
