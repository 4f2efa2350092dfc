import { CLIENTS } from '../lambdas/clients.ts';
import { COMMANDS } from './commands.ts';
import { GLOBAL_OPTIONS } from './read-arguments.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const USAGE = `Usage: model-router completion ${SHELLS.join('|')}

  bash   add to ~/.bashrc:  eval "$(model-router completion bash)"
  zsh    add to ~/.zshrc:   eval "$(model-router completion zsh)"
  fish   model-router completion fish > ~/.config/fish/completions/model-router.fish`;

/** What may follow the words before it, by those words. */
const wordsAfter = (): Map<string, string[]> => {
  const after = new Map<string, string[]>([
    ['', ['admin', 'connect', 'import', 'deploy', 'completion', '--help', '--version']],
    ['connect', Object.keys(CLIENTS)],
    ['completion', [...SHELLS]],
  ]);
  const add = (path: string, word: string) => {
    const words = after.get(path) ?? [];
    if (!words.includes(word)) after.set(path, [...words, word]);
  };
  for (const [name, { options = [] }] of Object.entries(COMMANDS)) {
    const words = name.split(' ');
    for (const [index, word] of words.entries()) {
      add(['admin', ...words.slice(0, index)].join(' '), word);
    }
    after.set(
      `admin ${name}`,
      [...options, ...GLOBAL_OPTIONS].map((name) => `--${name}`),
    );
  }
  return after;
};

/** The longest first: words behind a command are its arguments. */
const sorted = () => [...wordsAfter()].toSorted(([one], [other]) => other.length - one.length);

const bash = (): string => {
  const cases = sorted().map(([path, words]) => {
    const pattern = path === '' ? '""' : `"${path}"*`;
    return `    ${pattern}) words="${words.join(' ')}" ;;`;
  });
  return `_model_router() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -F _model_router model-router`;
};

const fish = (): string =>
  [
    "function __model_router_path; string match -v -- '-*' (commandline -opc)[2..-1] | string join ' '; end",
    'complete -c model-router -f',
    ...[...wordsAfter()].map(([path, words]) => {
      const isCommand = words.includes('--json');
      const match = isCommand ? `string match -q -- "${path}*"` : `test "${path}" =`;
      return `complete -c model-router -n '${match} "$(__model_router_path)"' -a '${words.join(' ')}'`;
    }),
  ].join('\n');

const SCRIPTS: Record<string, () => string> = {
  bash,
  zsh: () => `autoload -U +X bashcompinit && bashcompinit\n${bash()}`,
  fish,
};

/** Prints the script that completes the words of the command in a shell. */
const [shell = ''] = process.argv.slice(2);
const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
if (script) process.stdout.write(`${script()}\n`);
else {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
}
