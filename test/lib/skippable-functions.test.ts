import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { makeFunctionsSkippable } from '../../lib/bundle/skippable-functions.ts';

/** A script whose `LONG` is a statement, which makes a body long enough to be skipped. */
const spelledOut = (script: string): string => script.replaceAll('LONG', `"${'x'.repeat(150)}"`);

test.each([
  ['var f=(a,b)=>{LONG;return a+b};', 'var f=function(a,b){LONG;return a+b};'],
  ['var f=a=>{LONG;return a};', 'var f=function(a){LONG;return a};'],
  ['var f=async({a})=>{LONG;await a};', 'var f=async function({a}){LONG;await a};'],
  ['var f=async a=>{LONG;await a};', 'var f=async function(a){LONG;await a};'],
  ['var o={f:()=>{LONG;return()=>{g()}}};', 'var o={f:function(){LONG;return()=>{g()}}};'],
  ['h(()=>{LONG;g()},()=>{LONG;g()});', 'h(function(){LONG;g()},function(){LONG;g()});'],
  ['(()=>{LONG;g()})();', '(function(){LONG;g()})();'],
])(
  'the bundler writes an outermost arrow function with a block as a function: %s',
  (script, expected) => {
    expect(makeFunctionsSkippable(spelledOut(script))).toBe(spelledOut(expected));
  },
);

test.each([
  'var f=a=>a+1;',
  'var f=()=>{g()};',
  'function f(){return()=>{LONG;g()}}',
  'class A{f=()=>{LONG;return this.a}}',
  'var f=()=>{LONG;return()=>this};',
  'var f=()=>{LONG;return arguments};',
  'var s="()=>{}";',
])('the bundler does not rewrite a function that gains no time, or would change: %s', (script) => {
  expect(makeFunctionsSkippable(spelledOut(script))).toBe(spelledOut(script));
});

test('a script has the same results after the bundler rewrote its functions', () => {
  const script = spelledOut(
    'var f=(a,{b=2}={})=>{LONG;return a*b},g=a=>{LONG;return f(a)+1};g(3)+f(1,{b:5})',
  );
  const rewritten = makeFunctionsSkippable(script);
  expect(rewritten).not.toBe(script);
  expect(runInNewContext(rewritten)).toBe(runInNewContext(script));
});
