"""Files that the compile worker keeps between jobs: what this user's key did not make is not used."""

import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "lib/program/compile/worker"))
import kept  # noqa: E402

with unittest.mock.patch.object(sys, "argv", ["worker", "", "", "normal"]):
    import toolchain  # noqa: E402

KEY = "01" * 32


class KeptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.umask, os.umask(0o077))
        self.addCleanup(kept.verified.clear)
        self.root = pathlib.Path(folder.name) / "worker"
        self.place = str(self.root / "2.11.0/headers/header.h.gch")
        os.makedirs(os.path.dirname(self.place))
        self.elsewhere = pathlib.Path(folder.name) / "elsewhere"
        self.store().take(self.made("good"), self.place)

    def made(self, text):
        self.elsewhere.write_text(text)
        return str(self.elsewhere)

    def store(self, key=KEY):
        return kept.Kept(str(self.root), key)

    def check_not_used(self):
        kept.verified.clear()
        store = self.store()
        self.assertFalse(store.holds(self.place))
        self.assertEqual(store.not_used, [self.place])
        store.take(self.made("anew"), self.place)
        self.assertTrue(self.store().holds(self.place))

    def test_own_work_is_used_and_read_once(self):
        self.assertTrue(self.store().holds(self.place))
        self.assertTrue(self.store("02" * 32).holds(self.place))  # known in this process
        self.assertEqual(os.stat(self.place).st_mode & 0o777, 0o600)
        self.assertFalse(self.store().holds(self.place + ".other"))
        self.assertEqual(pathlib.Path(self.place).read_text(), "good")

    def test_another_key(self):
        kept.verified.clear()
        self.assertFalse(self.store("02" * 32).holds(self.place))

    def test_changed_after_it_was_found_right(self):
        self.assertTrue(self.store().holds(self.place))
        before = os.stat(self.place)
        with open(self.place, "r+") as file:
            file.write("evil")
        # Both may have happened within one tick of the file system's clock.
        os.utime(self.place, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        store = self.store()
        self.assertFalse(store.holds(self.place))
        self.assertEqual(store.not_used, [self.place])

    def test_without_a_code(self):
        os.remove(self.place + ".mac")
        self.check_not_used()

    def test_another_files_contents_and_code(self):
        other = self.place + ".other"
        self.store().take(self.made("good"), other)
        for ending in ("", ".mac"):
            os.replace(other + ending, self.place + ending)
        self.check_not_used()

    def test_a_link(self):
        os.rename(self.place, self.elsewhere)
        os.symlink(self.elsewhere, self.place)
        self.check_not_used()

    def test_a_second_name(self):
        os.link(self.place, str(self.root / "second"))
        self.check_not_used()

    def test_others_may_write(self):
        os.chmod(self.place, 0o602)
        self.check_not_used()

    def test_a_pipe(self):
        os.remove(self.place)
        os.mkfifo(self.place)
        self.check_not_used()

    def test_many_processes_at_once(self):
        """All make and use one file: none finds another's half done."""
        children = []
        for number in range(4):
            pid = os.fork()
            if pid == 0:
                os._exit(self.torment(number))
            children.append(pid)
        self.assertEqual([os.waitpid(pid, 0)[1] for pid in children], [0] * len(children))

    def torment(self, number):
        for turn in range(200):
            made = self.root / f"made-{number}"
            made.write_text(f"{number} {turn}")
            store = self.store()
            kept.verified.clear()
            if not store.holds(self.place):
                return 1
            store.take(str(made), self.place)
        return 0

    def test_folders_on_the_way(self):
        headers = self.root / "2.11.0/headers"
        for mode in (0o770, 0o707):
            os.chmod(headers, mode)
            with self.assertRaisesRegex(kept.UnsafeFolder, "headers.*can write.*--cache-dir"):
                self.store().holds(self.place)
        os.chmod(headers, 0o700)
        os.rename(headers, self.root / "aside")
        os.symlink(self.root / "aside", headers)
        with self.assertRaisesRegex(kept.UnsafeFolder, "symbolic link"):
            self.store().holds(self.place)
        with self.assertRaises(kept.UnsafeFolder):
            self.store().take(self.made("anew"), self.place)

    def make(self, place, make=lambda name: pathlib.Path(name).write_text("made")):
        build = types.SimpleNamespace(store=self.store(), job_folder=str(self.root), report=lambda message: None)
        return toolchain.Build.kept(build, place, make)

    def test_folders_are_made_for_this_user_alone(self):
        os.umask(0)
        place = str(self.root / "2.12.0/probes/answer")
        os.rename(self.root, self.elsewhere)  # the root may be missing, too
        self.store().make_folders(place)
        for folder in ("", "2.12.0", "2.12.0/probes"):
            self.assertEqual(os.stat(self.root / folder).st_mode & 0o777, 0o700)
        os.umask(0o077)
        self.make(place)
        self.assertEqual(pathlib.Path(place).read_text(), "made")
        self.assertTrue(self.store().holds(place))

    def test_nothing_is_made_in_a_folder_before_it_was_checked(self):
        planted = self.root / "2.12.0"
        place = str(planted / "probes/answer")

        def never(name):
            self.fail("made")

        self.elsewhere.mkdir()
        planted.symlink_to(self.elsewhere)
        with self.assertRaisesRegex(kept.UnsafeFolder, "2.12.0.*symbolic link"):
            self.make(place, never)
        self.assertEqual(os.listdir(self.elsewhere), [])
        planted.unlink()
        planted.mkdir()
        planted.chmod(0o707)
        with self.assertRaisesRegex(kept.UnsafeFolder, "2.12.0.*can write"):
            self.make(place, never)
        self.assertEqual(os.listdir(planted), [])


unittest.main()
