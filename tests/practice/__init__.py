"""Tables of shapes that writers of practice leave; each has folders of cases."""
